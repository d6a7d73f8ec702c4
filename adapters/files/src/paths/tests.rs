//! One table of words over one tree, for each way of looking up: both must tell the same.

use super::*;
#[cfg(target_os = "linux")]
use nix::sys::stat::{SFlag, mknod};
use nix::{sys::stat::Mode, unistd::mkfifo};
use owl_domain::{ports::Hidden, project::Pin, text::ProjectName};
use std::{
    fs,
    os::unix::{fs::MetadataExt, fs::symlink, net::UnixListener},
    path::Path,
};
use tempfile::TempDir;

/// Every way of looking up that this system has.
fn ways() -> Vec<HostPaths> {
    let portable = HostPaths { lookup: Lookup::Portable, tree_entries: TREE_ENTRIES };
    let best = HostPaths::new();
    if best.lookup == Lookup::Portable { vec![portable] } else { vec![best, portable] }
}

fn pin(path: &Path) -> Pin {
    let there = fs::metadata(path).unwrap();
    Pin { path: AbsPath::new(path.to_str().unwrap()).unwrap(), device: there.dev(), inode: there.ino() }
}

fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "text\n").unwrap();
}

/// A work tree with its git directory, and `outside/` beside it.
struct Tree {
    _parent: TempDir,
    parent: PathBuf,
    root: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let made = TempDir::new().unwrap();
        let parent = made.path().canonicalize().unwrap();
        let root = parent.join("project");
        for file in ["README.md", "src/main.rs", "sub/deep/file.txt", ".git/config", ".git/HEAD", "..env", ".gitignore"]
        {
            write(&root.join(file));
        }
        for file in [".github/x", "docs.git/readme.txt", "-rf", "..dir/file", "...", "~", "$HOME", "with blank.txt"] {
            write(&root.join(file));
        }
        write(&parent.join("outside/secret.txt"));
        write(&parent.join("project2/secret.txt"));
        Self { _parent: made, parent, root }
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.root.join(name)).unwrap();
    }

    fn bare(&self, name: &str) -> PathBuf {
        let bare = self.root.join(name);
        for file in ["HEAD", "config", "objects/info/packs", "refs/heads/main", "nested/deeper/x"] {
            write(&bare.join(file));
        }
        bare
    }

    fn workdir(&self) -> Workdir {
        self.workdir_with(&self.root.join(".git"), &self.root.join(".git"))
    }

    fn workdir_with(&self, git_dir: &Path, common_dir: &Path) -> Workdir {
        Workdir {
            project: ProjectName::new("project").unwrap(),
            pins: Pins { work_tree: pin(&self.root), git_dir: pin(git_dir), common_dir: pin(common_dir) },
        }
    }

    async fn locate(&self, way: HostPaths, word: &str, depth: Depth) -> Place {
        let look = Look { word: word.into(), depth };
        let mut located = way.locate(&self.workdir(), &[look]).await.unwrap();
        assert_eq!(located.places.len(), 1);
        located.places.remove(0)
    }

    /// Looks a word up in every way and writes down where it leads, the place from the root.
    async fn said(&self, word: &str) -> String {
        let mut said = Vec::new();
        for way in ways() {
            said.push(self.tell(self.locate(way, word, Depth::Entry).await));
        }
        assert!(said.iter().all(|other| Some(other) == said.first()), "`{word}`: the ways differ: {said:?}");
        said.remove(0)
    }

    fn tell(&self, place: Place) -> String {
        match place {
            Place::Inside(found) => {
                let path = Path::new(found.path.as_str()).strip_prefix(&self.root).unwrap();
                format!("{:?} {}", found.kind, path.display())
            }
            Place::Outside { leads_to } => format!("Outside {leads_to}"),
            Place::Git => "Git".into(),
            Place::Absent => "Absent".into(),
            Place::BrokenLink => "BrokenLink".into(),
            Place::Unknown { reason } => format!("Unknown {reason}"),
        }
    }

    async fn check(&self, cases: &[(&str, &str)]) {
        for (word, expected) in cases {
            assert_eq!(self.said(word).await, *expected, "`{word}`");
        }
    }

    async fn below(&self, word: &str) -> Below {
        let mut said = Vec::new();
        for way in ways() {
            match self.locate(way, word, Depth::Tree).await {
                Place::Inside(found) => said.push(found.below),
                other => panic!("`{word}` is {other:?}"),
            }
        }
        assert!(said.iter().all(|other| Some(other) == said.first()), "`{word}`: the ways differ: {said:?}");
        said.remove(0)
    }
}

fn hidden(paths: &[&str]) -> Below {
    Below::Hidden(paths.iter().map(|path| Hidden(path.as_bytes().to_vec())).collect())
}

#[tokio::test]
async fn what_stays_inside_is_told_with_its_kind_and_its_place() {
    let tree = Tree::new();
    tree.check(&[
        (".", "Directory "),
        ("./", "Directory "),
        ("src", "Directory src"),
        ("src/", "Directory src"),
        ("src//main.rs", "File src/main.rs"),
        ("README.md", "File README.md"),
        ("./README.md", "File README.md"),
        ("src/../README.md", "File README.md"),
        ("src/./../src/main.rs", "File src/main.rs"),
        ("sub/deep/../../README.md", "File README.md"),
        ("..env", "File ..env"),
        ("..dir/file", "File ..dir/file"),
        ("...", "File ..."),
        ("-rf", "File -rf"),
        ("~", "File ~"),
        ("$HOME", "File $HOME"),
        ("with blank.txt", "File with blank.txt"),
    ])
    .await;
}

#[tokio::test]
async fn names_that_begin_or_end_like_dot_git_are_ordinary() {
    let tree = Tree::new();
    tree.check(&[
        (".gitignore", "File .gitignore"),
        (".github/x", "File .github/x"),
        ("docs.git/readme.txt", "File docs.git/readme.txt"),
        ("docs.git", "Directory docs.git"),
    ])
    .await;
}

#[tokio::test]
async fn a_link_is_judged_by_where_it_leads() {
    let tree = Tree::new();
    for (name, target) in [
        ("out", "../outside/secret.txt"),
        ("dir-out", "../outside"),
        ("chain1", "chain2"),
        ("chain2", "chain3"),
        ("chain3", "out"),
        ("up", ".."),
        ("sub/out", "../../outside"),
        ("neighbour", "../project2/secret.txt"),
        ("passwd", "/etc/passwd"),
        ("in", "src"),
        ("readme", "README.md"),
        ("src/readme-up", "../README.md"),
        ("deep", "sub/deep"),
        ("roundabout", "../project/README.md"),
        ("gone", "../outside/not-there"),
        ("gone-in", "not-there"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("self", "self"),
    ] {
        tree.link(name, target);
    }
    tree.link("abs-out", tree.parent.join("outside/secret.txt"));
    tree.link("abs-in", tree.root.join("src/main.rs"));
    tree.check(&[
        ("out", "Outside ../outside/secret.txt"),
        ("abs-out", "Outside ../outside/secret.txt"),
        ("chain1", "Outside ../outside/secret.txt"),
        ("dir-out", "Outside ../outside"),
        ("dir-out/", "Outside ../outside"),
        ("dir-out/secret.txt", "Outside ../outside/secret.txt"),
        ("sub/out/../outside/secret.txt", "Outside ../outside/secret.txt"),
        ("sub/out/../README.md", "BrokenLink"),
        ("up", "Outside .."),
        ("up/project2/secret.txt", "Outside ../project2/secret.txt"),
        ("neighbour", "Outside ../project2/secret.txt"),
        ("passwd", "Outside /etc/passwd"),
        ("in", "Directory src"),
        ("in/", "Directory src"),
        ("in/main.rs", "File src/main.rs"),
        ("readme", "File README.md"),
        ("src/readme-up", "File README.md"),
        ("deep/file.txt", "File sub/deep/file.txt"),
        ("deep/../deep/file.txt", "File sub/deep/file.txt"),
        ("roundabout", "File README.md"),
        ("abs-in", "File src/main.rs"),
        ("up/project/README.md", "File README.md"),
        ("gone", "BrokenLink"),
        ("gone-in", "BrokenLink"),
        ("loop-a", "BrokenLink"),
        ("self", "BrokenLink"),
        ("in/not-there", "BrokenLink"),
        ("readme/", "BrokenLink"),
        ("readme/x", "BrokenLink"),
        ("dir-out/not-there", "BrokenLink"),
    ])
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_link_that_leads_elsewhere_for_each_process_is_never_followed_inside() {
    let tree = Tree::new();
    let here = fs::File::open(&tree.root).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&here);
    tree.link("magic", format!("/proc/self/fd/{descriptor}"));
    tree.link("cwd", "/proc/self/cwd");
    tree.link("environ", "/proc/self/environ");
    for way in ways() {
        for word in ["magic/README.md", "magic", "cwd/README.md", "environ"] {
            let place = tree.locate(way, word, Depth::Entry).await;
            assert!(matches!(place, Place::Outside { .. } | Place::BrokenLink), "`{word}` by {way:?} is {place:?}");
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_is_absent_when_no_link_is_on_the_way() {
    let tree = Tree::new();
    tree.check(&[
        ("nothing.txt", "Absent"),
        ("no-such/../README.md", "Absent"),
        ("src/nothing/x", "Absent"),
        ("README.md/", "Absent"),
        ("README.md/x", "Absent"),
        ("README.md/..", "Absent"),
        ("*.rs", "Absent"),
    ])
    .await;
    let long = "n".repeat(300);
    assert!(tree.said(&long).await.starts_with("Unknown"), "a name that is too long is not looked at");
}

#[tokio::test]
async fn git_data_is_found_under_every_name() {
    let tree = Tree::new();
    for name in [".GIT/config", ".Git/config", "git~1/config", ".git./config", ".git /config"] {
        write(&tree.root.join(name));
    }
    for name in [".git::$INDEX_ALLOCATION/config", ".g\u{200c}it/config", ".git\u{feff}/config", ".git\u{200b}/config"]
    {
        write(&tree.root.join(name));
    }
    write(&tree.root.join("scratch/.git/config"));
    write(&tree.root.join("tree/.git"));
    tree.bare("mirror.git");
    tree.link("dotgit", ".git");
    tree.link("settings.ini", ".git/config");
    tree.link("gchain1", "gchain2");
    tree.link("gchain2", "dotgit/config");
    tree.link("mirror", "mirror.git/config");
    tree.check(&[
        (".git", "Git"),
        (".git/", "Git"),
        (".git/config", "Git"),
        ("src/../.git/config", "Git"),
        (".git/../.git/config", "Git"),
        (".git/../README.md", "File README.md"),
        (".GIT", "Git"),
        (".GIT/config", "Git"),
        (".Git/config", "Git"),
        ("git~1/config", "Git"),
        (".git./config", "Git"),
        (".git /config", "Git"),
        (".git::$INDEX_ALLOCATION/config", "Git"),
        (".g\u{200c}it/config", "Git"),
        (".git\u{feff}/config", "Git"),
        (".git\u{200b}/config", "Git"),
        ("scratch/.git/config", "Git"),
        ("scratch", "Directory scratch"),
        ("tree/.git", "Git"),
        ("mirror.git", "Git"),
        ("mirror.git/config", "Git"),
        ("mirror.git/nested/deeper/x", "Git"),
        ("mirror", "Git"),
        ("dotgit", "Git"),
        ("dotgit/config", "Git"),
        ("settings.ini", "Git"),
        ("gchain1", "Git"),
    ])
    .await;
}

#[tokio::test]
async fn a_pinned_git_directory_is_known_by_what_it_is_and_not_by_its_name() {
    let tree = Tree::new();
    write(&tree.root.join("var/store/config"));
    write(&tree.root.join("var/store/worktrees/w/HEAD"));
    write(&tree.root.join("var/plain/config"));
    tree.link("settings", "var/store/config");
    let workdir = tree.workdir_with(&tree.root.join("var/store/worktrees/w"), &tree.root.join("var/store"));
    for way in ways() {
        let looks = ["var/store", "var/store/config", "settings", "var/store/worktrees/w", "var/plain/config", "var"];
        let looks = looks.map(|word| Look { word: word.into(), depth: Depth::Tree });
        let located = way.locate(&workdir, &looks).await.unwrap();
        let said: Vec<_> = located.places.into_iter().map(|place| tree.tell(place)).collect();
        assert_eq!(said, ["Git", "Git", "Git", "Git", "File var/plain/config", "Directory var"]);
        let located = way.locate(&workdir, &[Look { word: "var".into(), depth: Depth::Tree }]).await.unwrap();
        assert!(matches!(located.places.as_slice(), [Place::Inside(found)] if found.below == hidden(&["store"])));
    }
}

#[tokio::test]
async fn a_second_hard_link_to_a_git_file_and_a_copy_are_files() {
    let tree = Tree::new();
    fs::hard_link(tree.root.join(".git/config"), tree.root.join("hard")).unwrap();
    fs::copy(tree.root.join(".git/config"), tree.root.join("copy")).unwrap();
    tree.check(&[("hard", "File hard"), ("copy", "File copy")]).await;
}

#[tokio::test]
async fn special_files_are_told_and_never_woken() {
    let tree = Tree::new();
    mkfifo(&tree.root.join("pipe"), Mode::S_IRWXU).unwrap();
    let _listener = UnixListener::bind(tree.root.join("sock")).unwrap();
    tree.link("to-pipe", "pipe");
    tree.check(&[("pipe", "Fifo pipe"), ("to-pipe", "Fifo pipe"), ("sock", "Socket sock")]).await;
    // Only a privileged user may make one.
    #[cfg(target_os = "linux")]
    if mknod(&tree.root.join("zero"), SFlag::S_IFCHR, Mode::S_IRWXU, nix::sys::stat::makedev(1, 5)).is_ok() {
        tree.check(&[("zero", "Device zero")]).await;
    }
}

#[tokio::test]
async fn a_descriptor_is_of_the_very_file_that_was_judged() {
    let tree = Tree::new();
    tree.link("readme", "README.md");
    for way in ways() {
        let Place::Inside(found) = tree.locate(way, "readme", Depth::Entry).await else { panic!("not inside") };
        let stat = nix::sys::stat::fstat(root::descriptor(&found.handle).unwrap()).unwrap();
        assert_eq!(stat.st_ino, fs::metadata(tree.root.join("README.md")).unwrap().ino());
    }
}

#[tokio::test]
async fn a_walk_returns_each_git_directory_it_meets_and_nothing_below_it() {
    let tree = Tree::new();
    write(&tree.root.join("scratch/.git/modules/x/.git/config"));
    write(&tree.root.join("vendor/inner/.git"));
    write(&tree.root.join("vendor/.GIT/config"));
    write(&tree.root.join("vendor/git~1/config"));
    tree.bare("mirror.git");
    tree.bare("vendor/renamed");
    tree.link("dir-out", "../outside");
    tree.link("src/dotgit", "../.git");
    mkfifo(&tree.root.join("pipe"), Mode::S_IRWXU).unwrap();
    let all =
        [".git", "mirror.git", "scratch/.git", "vendor/.GIT", "vendor/git~1", "vendor/inner/.git", "vendor/renamed"];
    assert_eq!(tree.below(".").await, hidden(&all));
    assert_eq!(tree.below("vendor").await, hidden(&[".GIT", "git~1", "inner/.git", "renamed"]));
    assert_eq!(tree.below("src").await, hidden(&[]));
    assert_eq!(tree.below("README.md").await, Below::NotAsked);
    for way in ways() {
        let Place::Inside(found) = tree.locate(way, ".", Depth::Entry).await else { panic!("not inside") };
        assert_eq!(found.below, Below::NotAsked);
    }
}

#[tokio::test]
async fn a_git_directory_whose_name_something_else_has_is_told() {
    let tree = Tree::new();
    tree.bare("vendor/data");
    write(&tree.root.join("vendor/data/objects/data"));
    assert_eq!(tree.below(".").await, hidden(&[".git", "vendor/data"]), "what lies in it is not something else");
    for (other, within) in [("lib/deep/data/evil.rs", "lib"), ("vendor/sub/data", "vendor/sub")] {
        write(&tree.root.join(other));
        assert_eq!(tree.below(".").await, Below::Shared(Hidden(b"vendor/data".to_vec())), "{other}");
        assert_eq!(tree.below(within).await, hidden(&[]), "{other}");
        fs::remove_dir_all(tree.root.join(within)).unwrap();
    }
    assert_eq!(tree.below(".").await, hidden(&[".git", "vendor/data"]));
}

#[tokio::test]
async fn a_git_directory_whose_name_is_no_text_cannot_be_named_alone() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::new();
    let odd = OsStr::from_bytes(b"\xff\xfe");
    if fs::create_dir(tree.root.join(odd)).is_err() {
        return; // A file system that takes UTF-8 alone has no such names.
    }
    for part in ["HEAD", "objects/x", "refs/x"] {
        write(&tree.root.join(odd).join(part));
    }
    assert_eq!(tree.below(".").await, Below::Shared(Hidden(b"\xff\xfe".to_vec())));
}

#[tokio::test]
async fn a_walk_keeps_names_that_are_not_utf8() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let tree = Tree::new();
    let odd = tree.root.join("sub").join(OsStr::from_bytes(b"\xff\xfe"));
    if fs::create_dir(&odd).is_err() {
        return; // A file system that takes UTF-8 alone has no such names.
    }
    write(&odd.join(".git/config"));
    assert_eq!(tree.below("sub").await, Below::Hidden(vec![Hidden(b"\xff\xfe/.git".to_vec())]));
}

#[tokio::test]
async fn what_lies_too_deep_is_not_walked_and_not_looked_at() {
    let tree = Tree::new();
    let deep = |levels: usize| vec!["d"; levels].join("/");
    let at_most = walk::DEEPEST;
    fs::create_dir_all(tree.root.join("tower").join(deep(at_most - 1))).unwrap();
    for way in ways() {
        let word = format!("tower/{}", deep(at_most - 1));
        assert!(matches!(tree.locate(way, &word, Depth::Entry).await, Place::Inside(_)));
        let Place::Inside(found) = tree.locate(way, "tower", Depth::Tree).await else { panic!("not inside") };
        assert_eq!(found.below, hidden(&[]));
    }
    fs::create_dir_all(tree.root.join("tower").join(deep(at_most + 1))).unwrap();
    for way in ways() {
        let word = format!("tower/{}", deep(at_most));
        let Place::Unknown { reason } = tree.locate(way, &word, Depth::Entry).await else { panic!("too deep") };
        assert_eq!(reason, "it lies more than 128 directories deep");
        let Place::Inside(found) = tree.locate(way, "tower", Depth::Tree).await else { panic!("not inside") };
        assert_eq!(found.below, Below::TooMany);
    }
}

#[tokio::test]
async fn a_tree_with_too_many_entries_is_not_walked_to_its_end() {
    let tree = Tree::new();
    let names = fs::read_dir(tree.root.join("sub/deep")).unwrap().count()
        + fs::read_dir(tree.root.join("sub")).unwrap().count();
    for way in ways() {
        let most = u32::try_from(names).unwrap();
        let enough = HostPaths { tree_entries: most, ..way };
        let Place::Inside(found) = tree.locate(enough, "sub", Depth::Tree).await else { panic!("not inside") };
        assert_eq!(found.below, hidden(&[]));
        let short = HostPaths { tree_entries: most - 1, ..way };
        let Place::Inside(found) = tree.locate(short, "sub", Depth::Tree).await else { panic!("not inside") };
        assert_eq!(found.below, Below::TooMany);
    }
}

#[tokio::test]
async fn a_deep_tree_takes_no_more_descriptors_than_a_flat_one() {
    let tree = Tree::new();
    let deep: PathBuf =
        std::iter::once("sub".to_owned()).chain((0..walk::DEEPEST - 1).map(|n| format!("d{n}"))).collect();
    write(&tree.root.join(&deep).join(".git/config"));
    let expected = deep.strip_prefix("sub").unwrap().join(".git");
    assert_eq!(tree.below("sub").await, hidden(&[expected.to_str().unwrap()]));
}

#[tokio::test]
async fn a_workdir_that_is_gone_or_replaced_is_told() {
    for way in ways() {
        let tree = Tree::new();
        let workdir = tree.workdir();
        let path = workdir.path().clone();
        fs::rename(&tree.root, tree.parent.join("moved")).unwrap();
        let gone = way.locate(&workdir, &[]).await.unwrap_err();
        assert_eq!(gone, LocateError::Gone { path: path.clone() });

        fs::create_dir(&tree.root).unwrap();
        let replaced = way.locate(&workdir, &[]).await.unwrap_err();
        assert_eq!(replaced, LocateError::Replaced { path: path.clone() });

        fs::remove_dir(&tree.root).unwrap();
        symlink("moved", &tree.root).unwrap();
        let linked = way.locate(&workdir, &[]).await.unwrap_err();
        assert_eq!(linked, LocateError::Replaced { path: path.clone() });

        fs::remove_file(&tree.root).unwrap();
        fs::write(&tree.root, "").unwrap();
        let file = way.locate(&workdir, &[]).await.unwrap_err();
        assert_eq!(file, LocateError::Replaced { path: path.clone() });

        fs::remove_file(&tree.root).unwrap();
        fs::rename(tree.parent.join("moved"), &tree.root).unwrap();
        way.locate(&workdir, &[]).await.unwrap();
    }
}

#[tokio::test]
async fn a_workdir_reached_through_a_link_higher_up_is_told() {
    let tree = Tree::new();
    let workdir = tree.workdir();
    let elsewhere = TempDir::new().unwrap();
    let moved = elsewhere.path().join("parent");
    if fs::rename(&tree.parent, &moved).is_err() {
        return; // Two file systems.
    }
    symlink(&moved, &tree.parent).unwrap();
    for way in ways() {
        let error = way.locate(&workdir, &[]).await.unwrap_err();
        assert_eq!(error, LocateError::Replaced { path: workdir.path().clone() });
    }
    fs::remove_file(&tree.parent).unwrap();
    fs::rename(&moved, &tree.parent).unwrap();
}

#[tokio::test]
async fn a_word_the_gate_should_have_refused_is_not_looked_up() {
    let tree = Tree::new();
    for word in ["", "/etc/passwd", "READ\0ME.md"] {
        let said = tree.said(word).await;
        assert!(said.starts_with("Unknown"), "`{word:?}` was looked up: {said}");
    }
    assert!(tree.said("../outside/secret.txt").await.starts_with("Outside"));
}

#[tokio::test]
async fn places_come_in_the_order_of_the_looks() {
    let tree = Tree::new();
    let looks = ["src", "nothing", "README.md", ".git"].map(|word| Look { word: word.into(), depth: Depth::Tree });
    for way in ways() {
        let located = way.locate(&tree.workdir(), &looks).await.unwrap();
        let said: Vec<_> = located.places.into_iter().map(|place| tree.tell(place)).collect();
        assert_eq!(said, ["Directory src", "Absent", "File README.md", "Git"]);
    }
}

#[tokio::test]
async fn a_path_resolves_to_where_every_link_in_it_leads() {
    let tree = Tree::new();
    tree.link("in", "src");
    let resolve = async |path: PathBuf| HostPaths::new().resolve(&AbsPath::new(path.to_str().unwrap()).unwrap()).await;
    let main = AbsPath::new(tree.root.join("src/main.rs").to_str().unwrap()).unwrap();
    assert_eq!(resolve(tree.root.join("in/../src/./main.rs")).await, Some(main));
    assert_eq!(resolve(tree.root.join("nothing")).await, None);
}
