//! git behind the wall, with the repository's own configuration given to it, which the gate never does.

use super::*;
use crate::{
    own::OwnCommand,
    testing::{Flag, script},
};
use std::os::unix::fs::PermissionsExt;

/// A repository with a commit, a branch and a change, and what Owl gives in place of its common directory.
struct Repository {
    ground: Ground,
    home: GitHome,
}

const ENVIRONMENT: [(&str, &str); 7] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C.UTF-8"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

impl Repository {
    async fn new(bench: &Bench) -> Self {
        let ground = Ground::new();
        fs::remove_dir_all(ground.at(".git")).unwrap();
        let owned = ground.root.with_file_name("owned");
        let text = "set -e; git init -q -b main .; git config user.name n; git config user.email e
            git add .; git commit -qm first; git branch other; echo more >> a.md
            git config core.credential SECRET; mkdir -p .git/modules/x; echo SECRET > .git/modules/x/config
            mkdir -p $OWNED/info; cp .git/info/exclude $OWNED/info/; ln -s $PWD/.git/objects $PWD/.git/refs $PWD/.git/logs $OWNED/
            printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n' > $OWNED/config";
        let mut env: Vec<_> = ENVIRONMENT.map(|(name, value)| (name.into(), value.into())).to_vec();
        env.push(("OWNED".into(), owned.clone().into()));
        let output =
            bench.spawner.run_own(OwnCommand { env, ..script(text, &ground.root) }, Flag::new()).await.unwrap();
        assert!(output.succeeded(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = |path: &Path| AbsPath::new(path.to_str().unwrap()).unwrap();
        let home = GitHome {
            git_dir: path(&ground.at(".git")),
            work_tree: path(&ground.root),
            real_common_dir: path(&ground.at(".git")),
            owned_common_dir: path(&owned),
            index: path(&ground.at(".git/index")),
            lenders: Vec::new(),
            readable: Vec::new(),
            settings: Vec::new(),
        };
        Self { ground, home }
    }

    fn git(&self, words: &[&str]) -> Try {
        let mut env: Vec<_> = ENVIRONMENT.map(|(name, value)| (name.into(), value.into())).to_vec();
        for (name, value) in [
            ("GIT_DIR", &self.home.git_dir),
            ("GIT_WORK_TREE", &self.home.work_tree),
            ("GIT_COMMON_DIR", &self.home.owned_common_dir),
        ] {
            env.push((name.into(), value.as_str().into()));
        }
        Try { env, ..Try::new(Program::Git, words, Reach::Git(self.home.clone())) }
    }

    /// A program that leaves a mark when it is started.
    fn marker(&self) -> (PathBuf, PathBuf) {
        let (program, mark) = (self.ground.outside.join("marker"), self.ground.outside.join("mark"));
        fs::write(&program, format!("#!/bin/sh\necho ran > {}\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (program, mark)
    }
}

#[tokio::test]
async fn git_reads_history_and_the_work_tree_as_it_does_without_the_wall() {
    let Some(bench) = Bench::walled("git_reads_history").await else { return };
    let repository = Repository::new(&bench).await;
    for words in [
        ["--no-pager", "status"].as_slice(),
        &["--no-pager", "status", "-sb"],
        &["--no-pager", "log", "-p", "--stat"],
        &["--no-pager", "log", "-g"],
        &["--no-pager", "diff"],
        &["--no-pager", "diff", "--stat", "HEAD"],
        &["--no-pager", "show", "HEAD:src/one.rs"],
        &["--no-pager", "branch", "--list", "-avv"],
    ] {
        let walled = bench.run(&repository.ground.root, repository.git(words)).await;
        let open = bench.open().run(&repository.ground.root, repository.git(words)).await;
        let told = |ran: owl_domain::ports::Ran| (ran.exit_code, ran.stdout, ran.stderr);
        let (walled, open) = (told(walled), told(open));
        assert_eq!(walled, open, "git {words:?}");
        assert_eq!(walled.0, Some(0), "git {words:?}: {walled:?}");
    }
}

#[tokio::test]
async fn not_even_git_reads_the_file_with_the_credential() {
    let Some(bench) = Bench::walled("not_even_git_reads").await else { return };
    let repository = Repository::new(&bench).await;
    let config = format!("{}/.git/config", repository.ground.root.display());
    let modules = format!("{}/.git/modules/x/config", repository.ground.root.display());
    for words in [
        ["config", "--file", &config, "--list"].as_slice(),
        &["config", "--file", &modules, "--list"],
        &["diff", "--no-index", "/dev/null", &config],
        &["diff", "--no-index", "/dev/null", "../outside/secret.txt"],
        &["hash-object", "--", "/etc/passwd"],
    ] {
        let ran = bench.run(&repository.ground.root, repository.git(words)).await;
        assert!(!ran.stdout.head.contains("SECRET") && ran.exit_code != Some(0), "git {words:?}: {ran:?}");
    }
    let open =
        bench.open().run(&repository.ground.root, repository.git(&["config", "--file", &config, "--list"])).await;
    assert!(open.stdout.head.contains("SECRET"));
}

#[tokio::test]
async fn no_program_that_a_configuration_names_is_started() {
    let Some(bench) = Bench::walled("no_program_that_a_configuration_names").await else { return };
    let repository = Repository::new(&bench).await;
    let (program, mark) = repository.marker();
    fs::write(repository.ground.at(".gitattributes"), "*.md diff=x filter=x\n").unwrap();
    let set = |key: &str| format!("{key}={}", program.display());
    for (key, words) in [
        ("core.fsmonitor", ["status"].as_slice()),
        ("diff.external", &["diff"]),
        ("diff.x.textconv", &["diff"]),
        ("filter.x.clean", &["diff"]),
        ("core.pager", &["-p", "log"]),
        ("gpg.program", &["log", "--show-signature"]),
        ("alias.lg", &["lg"]),
    ] {
        let setting = if key.starts_with("alias") { format!("{key}=!{}", program.display()) } else { set(key) };
        let words: Vec<&str> = ["-c", &setting].into_iter().chain(words.iter().copied()).collect();
        bench.run(&repository.ground.root, repository.git(&words)).await;
        assert!(!mark.exists(), "git {words:?} started a program");
    }
    let monitored = ["-c", &set("core.fsmonitor"), "status"];
    bench.open().run(&repository.ground.root, repository.git(&monitored)).await;
    assert!(mark.exists(), "without the wall it starts");
}

#[tokio::test]
async fn git_changes_nothing_in_the_repository() {
    let Some(bench) = Bench::walled("git_changes_nothing").await else { return };
    let repository = Repository::new(&bench).await;
    let before = repository.ground.state_of_files();
    for words in [
        ["branch", "new"].as_slice(),
        &["branch", "-D", "other"],
        &["log", "--output=a.md"],
        &["log", "--output=new.txt"],
        &["checkout", "--", "a.md"],
        &["reset", "--hard"],
        &["add", "."],
        &["commit", "-qam", "second"],
        &["clean", "-fdx"],
        &["config", "user.name", "other"],
    ] {
        let ran = bench.run(&repository.ground.root, repository.git(words)).await;
        assert_eq!(repository.ground.state_of_files(), before, "git {words:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_repository_inside_the_work_tree_is_not_read() {
    let Some(bench) = Bench::walled("a_repository_inside_the_work_tree").await else { return };
    let repository = Repository::new(&bench).await;
    for directory in ["store/refs", "store/objects"] {
        fs::create_dir_all(repository.ground.at(directory)).unwrap();
    }
    fs::write(repository.ground.at("store/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(repository.ground.at("store/config"), "SECRET\n").unwrap();
    let words = ["diff", "--no-index", "a.md", "store/config"];
    let ran = bench.run(&repository.ground.root, repository.git(&words)).await;
    assert!(!ran.stdout.head.contains("SECRET"), "{ran:?}");
    let open = bench.open().run(&repository.ground.root, repository.git(&words)).await;
    assert!(open.stdout.head.contains("SECRET"), "{open:?}");
}

#[tokio::test]
async fn what_is_named_as_readable_is_read_by_its_inode_and_nothing_beside_it() {
    let Some(bench) = Bench::walled("what_is_named_as_readable").await else { return };
    let mut repository = Repository::new(&bench).await;
    for directory in ["store/refs", "store/objects", ".git/modules/y"] {
        fs::create_dir_all(repository.ground.at(directory)).unwrap();
    }
    for file in ["store/HEAD", "store/config", ".git/modules/x/HEAD", ".git/modules/y/HEAD", ".git/modules/y/config"] {
        fs::write(repository.ground.at(file), "SECRET\n").unwrap();
    }
    let pin = |name: &str| {
        let (path, there) = (repository.ground.at(name), fs::symlink_metadata(repository.ground.at(name)).unwrap());
        Pin { path: AbsPath::new(path.to_str().unwrap()).unwrap(), device: there.dev(), inode: there.ino() }
    };
    repository.home.readable = vec![pin("store"), pin(".git/modules/x/config")];
    for (file, is_read) in [
        ("store/config", true),
        (".git/modules/x/config", true),
        (".git/modules/y/config", false),
        (".git/config", false),
    ] {
        let words = ["diff", "--no-index", "a.md", file];
        let ran = bench.run(&repository.ground.root, repository.git(&words)).await;
        assert_eq!(ran.stdout.head.contains("SECRET"), is_read, "{file}: {ran:?}");
    }
    // Another one in its place.
    fs::rename(repository.ground.at("store"), repository.ground.at("src/store")).unwrap();
    for directory in ["store/refs", "store/objects"] {
        fs::create_dir_all(repository.ground.at(directory)).unwrap();
    }
    fs::write(repository.ground.at("store/HEAD"), "SECRET\n").unwrap();
    let words = ["diff", "--no-index", "a.md", "store/HEAD"];
    let ran = bench.run(&repository.ground.root, repository.git(&words)).await;
    assert!(!ran.stdout.head.contains("SECRET"), "{ran:?}");
}

impl Ground {
    /// The content of every file below both directories.
    fn state_of_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(path: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
            let is = path.symlink_metadata().unwrap();
            if is.is_dir() {
                fs::read_dir(path).unwrap().for_each(|entry| walk(&entry.unwrap().path(), into));
            } else if is.is_file() {
                into.push((path.to_owned(), fs::read(path).unwrap()));
            }
        }
        let mut all = Vec::new();
        walk(self.root.parent().unwrap(), &mut all);
        all.sort();
        all
    }
}
