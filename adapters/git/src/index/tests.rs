use super::*;
use crate::pins::pin;
use owl_testkit::repo::{Git, TempRepo};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

/// A repository with a few files staged, one under a name that a forger may change.
fn staged(version: &str) -> TempRepo {
    let repo = TempRepo::new();
    for path in ["README.md", "src/main.rs", "src/mainly.rs", "xx/secret.txt", "xgit/config", "ünï/code.md"] {
        repo.write(path, path);
    }
    repo.git(["add", "--all"]);
    repo.git(["update-index", "--index-version", version]);
    repo
}

fn judged(repo: &TempRepo, hash: Hash) -> Result<(), String> {
    Indexes::default().look(&pins(repo.root()), hash, &copy(repo.root())).map(drop).map_err(|error| error.to_string())
}

/// Where its copy is.
fn copy(root: &Path) -> PathBuf {
    root.with_file_name("owned").join("index")
}

fn pins(root: &Path) -> Pins {
    let git_dir = pin(&root.join(".git")).unwrap();
    Pins { work_tree: pin(root).unwrap(), git_dir: git_dir.clone(), common_dir: git_dir }
}

/// Writes other names of the same length into the index.
fn forge(repo: &TempRepo, from: &[u8], to: &[u8]) {
    let file = repo.root().join(".git/index");
    let mut content = fs::read(&file).unwrap();
    let at = content.windows(from.len()).position(|found| found == from).unwrap();
    content[at..at + to.len()].copy_from_slice(to);
    fs::write(file, content).unwrap();
}

#[test]
fn what_git_writes_is_fine_in_every_version() {
    for version in ["2", "3", "4"] {
        let repo = staged(version);
        repo.git(["update-index", "--skip-worktree", "README.md"]);
        assert_eq!(judged(&repo, Hash::Sha1), Ok(()), "{version}");
    }
    assert_eq!(judged(&TempRepo::new(), Hash::Sha1), Ok(()), "there is none");
}

#[test]
fn a_path_that_leads_out_or_into_git_data_is_refused() {
    for (from, to) in [
        ("xx/secret.txt", "../secret.txt"),
        ("xx/secret.txt", "/x/secret.txt"),
        ("xgit/config", ".git/config"),
        ("xgit/config", ".GIT/config"),
    ] {
        let repo = staged("2");
        forge(&repo, from.as_bytes(), to.as_bytes());
        let refused = judged(&repo, Hash::Sha1).unwrap_err();
        assert!(refused.contains(&format!("names `{to}`")), "{refused}");
    }
    // Where names share their beginnings a forged one changes the next.
    let repo = staged("4");
    forge(&repo, b"xgit/config", b"./it/config");
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("names `./it/config`"));
}

#[test]
fn a_name_whose_length_is_not_what_it_says_is_refused() {
    let repo = staged("2");
    forge(&repo, b"\0\x0dxx/secret.txt", b"\0\x02");
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("no format"));
    let repo = staged("2");
    forge(&repo, b"xx/secret.txt", b"xx/secre\0.txt");
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("no format"));
}

#[test]
fn a_split_index_is_read_with_its_base() {
    let repo = staged("2");
    repo.git(["update-index", "--split-index"]);
    repo.write("more.md", "more");
    repo.git(["add", "more.md"]);
    assert_eq!(judged(&repo, Hash::Sha1), Ok(()));
    let git_dir = repo.root().join(".git");
    let shared = fs::read_dir(&git_dir).unwrap().map(|entry| entry.unwrap().path());
    let shared = shared.filter(|path| path.to_str().unwrap().contains("sharedindex")).collect::<Vec<_>>();
    assert_eq!(shared.len(), 1);
    fs::rename(git_dir.join("index"), git_dir.join("kept")).unwrap();
    fs::rename(&shared[0], git_dir.join("index")).unwrap();
    forge(&repo, b"xx/secret.txt", b"../secret.txt");
    fs::rename(git_dir.join("index"), &shared[0]).unwrap();
    fs::rename(git_dir.join("kept"), git_dir.join("index")).unwrap();
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("names `../secret.txt`"));
}

#[test]
fn a_big_index_is_read_as_git_reads_it_with_many_threads() {
    let repo = TempRepo::new();
    for n in 0..25_000 {
        repo.write(&format!("d{}/f{n:06}", n / 500), "");
    }
    for version in ["2", "4"] {
        repo.git(["-c", "index.threads=4", "-c", &format!("index.version={version}"), "add", "--all"]);
        let content = fs::read(repo.root().join(".git/index")).unwrap();
        assert!(content.windows(4).any(|found| found == b"IEOT"));
        assert_eq!(judged(&repo, Hash::Sha1), Ok(()));
        // A table that leads elsewhere would show git other names than those that were looked at.
        forge(&repo, b"IEOT", b"IEOT\0\0\0\x1c\0\0\0\x01\0\0\0\x0d");
        assert!(judged(&repo, Hash::Sha1).is_err(), "{version}");
        forge(&repo, b"EOIE", b"EOIE\0\0\0\x18\0\0\0\x0c");
        assert!(judged(&repo, Hash::Sha1).is_err(), "{version}");
        fs::remove_file(repo.root().join(".git/index")).unwrap();
    }
}

#[test]
fn a_longer_hash_is_known() {
    let repo = TempRepo::new();
    let root = repo.beside("long");
    fs::create_dir(&root).unwrap();
    let git = Git::at(&root);
    git.run(["init", "--quiet", "--object-format=sha256"]);
    fs::write(root.join("README.md"), "x").unwrap();
    git.run(["add", "--all"]);
    assert!(Indexes::default().look(&pins(&root), Hash::Sha256, &copy(&root)).is_ok());
    assert!(Indexes::default().look(&pins(&root), Hash::Sha1, &copy(&root)).is_err());
}

#[test]
fn an_index_is_read_again_when_it_changed() {
    let repo = staged("2");
    let indexes = Indexes::default();
    let pins = pins(repo.root());
    assert!(indexes.look(&pins, Hash::Sha1, &copy(repo.root())).is_ok());
    assert!(indexes.look(&pins, Hash::Sha1, &copy(repo.root())).is_ok());
    let file = repo.root().join(".git/index");
    let times = fs::metadata(&file).unwrap();
    forge(&repo, b"xx/secret.txt", b"../secret.txt");
    // Through a mapping it is written without another size or time.
    let times = fs::FileTimes::new().set_modified(times.modified().unwrap()).set_accessed(times.accessed().unwrap());
    fs::File::options().write(true).open(&file).unwrap().set_times(times).unwrap();
    assert!(indexes.look(&pins, Hash::Sha1, &copy(repo.root())).is_err());
    assert!(indexes.look(&pins, Hash::Sha1, &copy(repo.root())).is_err(), "and is refused again unread");
}

#[test]
fn no_more_of_any_number_of_index_files_is_kept_than_fits() {
    let repo = staged("2");
    let indexes = Indexes::default();
    let known = || indexes.read.lock().unwrap().known.len();
    for n in 0..2 * KNOWN_FILES {
        let file = repo.root().join(format!("index-{n}"));
        fs::copy(repo.root().join(".git/index"), &file).unwrap();
        assert!(indexes.read(&file, Hash::Sha1, None).unwrap().is_some());
        assert!((1..=KNOWN_FILES).contains(&known()));
    }
    for n in 0..5_000 {
        repo.write(&format!("{}{n}/f", "d".repeat(200)), "");
    }
    repo.git(["add", "--all"]);
    let before = known();
    assert!(indexes.read(&repo.root().join(".git/index"), Hash::Sha1, None).unwrap().is_some());
    assert_eq!(known(), before, "a large one is judged and let go of");
}

#[test]
fn a_sparse_index_is_refused_with_what_makes_it_whole() {
    let repo = TempRepo::new();
    for path in ["a/x", "b/x", "README.md"] {
        repo.commit_file(path, "x");
    }
    repo.git(["sparse-checkout", "init", "--cone", "--sparse-index"]);
    repo.git(["sparse-checkout", "set", "a"]);
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("git sparse-checkout reapply --no-sparse-index"));
    repo.git(["sparse-checkout", "reapply", "--no-sparse-index"]);
    assert_eq!(judged(&repo, Hash::Sha1), Ok(()));
}

#[test]
fn a_submodule_that_a_split_index_names_only_in_its_base_is_refused() {
    let repo = staged("2");
    repo.git(["update-index", "--split-index"]);
    let head = TempRepo::with_commit().git(["rev-parse", "HEAD"]);
    repo.git(["update-index", "--cacheinfo", &format!("160000,{head},README.md")]);
    assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("is split and changes a submodule"));
    repo.git(["update-index", "--no-split-index"]);
    assert_eq!(judged(&repo, Hash::Sha1), Ok(()));
}

#[test]
fn a_submodule_whose_own_repository_has_a_part_from_elsewhere_is_refused() {
    let repo = TempRepo::with_commit();
    let head = repo.git(["rev-parse", "HEAD"]);
    repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    let of_its_own = repo.root().join("sub/.git");
    for (at, dot_git) in
        [(of_its_own.clone(), None), (repo.root().join(".git/modules/sub"), Some("../.git/modules/sub"))]
    {
        fs::remove_dir_all(repo.root().join("sub")).ok();
        fs::create_dir_all(at.join("refs/heads")).unwrap();
        if let Some(dot_git) = dot_git {
            repo.write("sub/.git", format!("gitdir: {dot_git}\n"));
        }
        assert_eq!(judged(&repo, Hash::Sha1), Ok(()));
        symlink("/etc/hostname", at.join("refs/heads/main")).unwrap();
        assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("refs/heads/main` is a link"));
        fs::remove_file(at.join("refs/heads/main")).unwrap();
        fs::write(at.join("commondir"), "/elsewhere\n").unwrap();
        assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("names another repository"));
        fs::remove_file(at.join("commondir")).unwrap();
        for name in ["config", "config.worktree"] {
            symlink("/etc/hostname", at.join(name)).unwrap();
            assert!(judged(&repo, Hash::Sha1).unwrap_err().contains(&format!("{name}` is a link")));
            fs::remove_file(at.join(name)).unwrap();
        }
        nix::unistd::mkfifo(&at.join("config"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(judged(&repo, Hash::Sha1).unwrap_err().contains("git would wait at it"));
        fs::remove_file(at.join("config")).unwrap();
    }
}

#[test]
fn a_directory_that_became_a_link_or_git_data_is_refused_whenever_it_did() {
    let repo = staged("4");
    repo.write("a/b/c.md", "deep");
    repo.git(["add", "--all"]);
    let (indexes, pins) = (Indexes::default(), pins(repo.root()));
    let judged = || indexes.look(&pins, Hash::Sha1, &copy(repo.root())).map(drop).map_err(|error| error.to_string());
    assert_eq!(judged(), Ok(()));
    for directory in ["xx", "a", "a/b"] {
        let path = repo.root().join(directory);
        let aside = repo.beside("aside");
        fs::rename(&path, &aside).unwrap();
        assert_eq!(judged(), Ok(()), "what is not there has nothing below it");
        symlink(&aside, &path).unwrap();
        assert!(judged().unwrap_err().contains(&format!("below `{directory}`, which is a link")));
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        assert_eq!(judged(), Ok(()));
    }
    // A git directory of another name, inside the work tree.
    fs::rename(repo.root().join(".git"), repo.root().join("xx/data")).unwrap();
    let moved = Pins { git_dir: pin(&repo.root().join("xx")).unwrap(), ..pins.clone() };
    fs::rename(repo.root().join("xx/data/index"), repo.root().join("xx/index")).unwrap();
    let refused = Indexes::default().look(&moved, Hash::Sha1, &copy(repo.root())).unwrap_err().to_string();
    assert!(refused.contains("below `xx`, which is git's own data"), "{refused}");
}

#[test]
fn a_submodule_whose_repository_is_another_ones_is_refused() {
    let (repo, other) = (TempRepo::with_commit(), TempRepo::with_commit());
    let head = other.git(["rev-parse", "HEAD"]);
    repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    let outside = other.root().join(".git");
    for (own, target) in [
        (true, repo.root().join(".git/modules/sub")),
        (true, repo.root().join("gone")),
        (false, outside.clone()),
        (false, repo.root().join(".git")),
    ] {
        fs::create_dir_all(repo.root().join(".git/modules/sub")).unwrap();
        repo.write("sub/.git", format!("gitdir: {}\n", target.display()));
        assert_eq!(judged(&repo, Hash::Sha1).is_ok(), own, "{}", target.display());
    }
    // As git reads the file, and not as others might.
    let named = |target: &str| repo.write("sub/.git", format!("gitdir: {target}"));
    for end in ["\r\n\r\n".into(), "\n".repeat(1_000), "\n".repeat(100_000), "\0".into(), "\0\n".into()] {
        named(&format!("{}{end}", outside.display()));
        assert!(judged(&repo, Hash::Sha1).is_err(), "{} bytes behind it", end.len());
    }
    let blank = repo.root().join(".git/modules/sub ");
    named(&format!("{}\n", blank.display()));
    assert_eq!(judged(&repo, Hash::Sha1), Ok(()), "it leads nowhere");
    symlink(&outside, &blank).unwrap();
    assert!(judged(&repo, Hash::Sha1).is_err());
    fs::remove_file(repo.root().join("sub/.git")).unwrap();
    symlink(outside, repo.root().join("sub/.git")).unwrap();
    assert!(judged(&repo, Hash::Sha1).is_err());
}

#[test]
fn an_index_that_names_more_than_any_work_tree_holds_is_refused_soon() {
    // One name of 256 KiB, and entries that repeat it in four bytes each: it was read in time that grew with the square.
    let mut content = b"DIRC\0\0\0\x04".to_vec();
    let entries = 4_000_u32;
    content.extend(entries.to_be_bytes());
    for n in 0..entries {
        content.extend([0; 60]);
        content.extend(0x0fff_u16.to_be_bytes());
        content.push(u8::from(n > 0));
        content.extend(if n == 0 { "x".repeat(256 * 1024) } else { "y".into() }.bytes());
        content.push(0);
    }
    assert_eq!(Index { content: &content, hash: Hash::Sha1 }.judge(), Err(Fault::TooMuch));
}

#[test]
fn a_repository_at_the_root_is_readable_when_the_index_or_its_base_names_files_of_it() {
    let repo = TempRepo::with_commit();
    for name in ["one.git", "two.git", "untracked.git", "deep/three.git"] {
        for file in ["HEAD", "objects/x", "refs/x"] {
            repo.write(&format!("{name}/{file}"), "x");
        }
    }
    repo.write("four.git/HEAD", "x");
    // git's own data may lie behind links.
    symlink("objects", repo.root().join("one.git/x")).unwrap();
    fs::rename(repo.root().join("one.git/refs"), repo.root().join("one.git/r")).unwrap();
    symlink("r", repo.root().join("one.git/refs")).unwrap();
    // A submodule whose own files look so.
    let head = repo.git(["rev-parse", "HEAD"]);
    for file in ["HEAD", "objects/x", "refs/x"] {
        repo.write(&format!("sub/{file}"), "x");
    }
    repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    repo.git(["add", "one.git", "deep", "four.git"]);
    repo.git(["update-index", "--split-index"]);
    repo.git(["add", "two.git"]);
    let readable = Indexes::default().look(&pins(repo.root()), Hash::Sha1, &copy(repo.root())).unwrap();
    let mut names: Vec<_> = readable.iter().map(|pin| pin.path.as_str().rsplit_once('/').unwrap().1).collect();
    names.sort_unstable();
    assert_eq!(names, ["one.git", "sub", "two.git"]);
    assert!(readable.contains(&pin(&repo.root().join("one.git")).unwrap()));
}

#[test]
fn what_was_looked_at_is_copied_as_old_as_it_is_behind_a_lock_and_only_when_it_changed() {
    let repo = staged("2");
    let (original, copy) = (repo.root().join(".git/index"), copy(repo.root()));
    let indexes = Indexes::default();
    let looked = || indexes.look(&pins(repo.root()), Hash::Sha1, &copy);
    let inode = || fs::metadata(&copy).unwrap().ino();
    let is_the_same = || {
        assert_eq!(fs::read(&copy).unwrap(), fs::read(&original).unwrap());
        assert_eq!(
            fs::metadata(&copy).unwrap().modified().unwrap(),
            fs::metadata(&original).unwrap().modified().unwrap()
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&copy), mode(&copy.with_file_name("index.lock"))), (0o600, 0o600));
    };
    looked().unwrap();
    is_the_same();
    let first = inode();
    looked().unwrap();
    assert_eq!(inode(), first);
    // The same content, older.
    let file = fs::File::options().write(true).open(&original).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    looked().unwrap();
    is_the_same();
    // Somebody tidied up.
    fs::remove_file(copy.with_file_name("index.lock")).unwrap();
    fs::write(&copy, "other").unwrap();
    looked().unwrap();
    is_the_same();
    repo.write("more.md", "more");
    repo.git(["add", "more.md"]);
    looked().unwrap();
    is_the_same();
    forge(&repo, b"more.md", b"../.git");
    assert!(looked().is_err());
    assert!(!fs::read(&copy).unwrap().windows(7).any(|name| name == b"../.git"), "what is refused is not copied");
    // Nor is one that names what lies behind a link now.
    fs::remove_file(&original).unwrap();
    repo.git(["add", "README.md"]);
    looked().unwrap();
    repo.write("d/passwd", "x");
    repo.git(["add", "d"]);
    fs::remove_dir_all(repo.root().join("d")).unwrap();
    symlink("/etc", repo.root().join("d")).unwrap();
    assert!(looked().is_err());
    assert_ne!(fs::read(&copy).unwrap(), fs::read(&original).unwrap());
    fs::remove_file(&original).unwrap();
    looked().unwrap();
    assert!(!copy.exists() && copy.with_file_name("index.lock").exists());
}
