use super::*;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use tempfile::TempDir;

/// A common directory as git makes it, and the owned one beside it.
struct Pair {
    _parent: TempDir,
    common: PathBuf,
    owned: Owned,
}

impl Pair {
    fn new() -> Self {
        let made = TempDir::new().unwrap();
        let parent = made.path().canonicalize().unwrap();
        let common = parent.join("common");
        for directory in ["objects/info", "objects/pack", "objects/ab", "refs/heads", "info", "hooks"] {
            fs::create_dir_all(common.join(directory)).unwrap();
        }
        for file in ["HEAD", "config", "info/exclude", "info/attributes", "hooks/post-checkout", "packed-refs"] {
            fs::write(common.join(file), format!("{file}\n")).unwrap();
        }
        Self { _parent: made, common, owned: Owned::at(parent.join("state/git/project")) }
    }

    fn update(&mut self) -> Wanted {
        let wanted = self.owned.bring_up_to_date(&self.common, &Borrowed::AsBefore).unwrap();
        if let Wanted::Config(stamp) = &wanted {
            let config = Config { text: "[core]\n".into(), ..Config::default() };
            self.owned.set_config(*stamp, &config).unwrap();
        }
        wanted
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.owned.path.join(directory)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn inode(&self, name: &str) -> u64 {
        fs::symlink_metadata(self.owned.path.join(name)).unwrap().ino()
    }
}

fn pin(path: &str) -> Pin {
    Pin { path: owl_domain::text::AbsPath::new(path).unwrap(), device: 0, inode: 0 }
}

#[test]
fn it_holds_a_configuration_of_its_own_and_links_and_nothing_else() {
    let mut pair = Pair::new();
    assert!(matches!(pair.update(), Wanted::Config(Some(_))));
    let all = [
        "HEAD",
        "config",
        "indexes",
        "info",
        "logs",
        "objects",
        "packed-refs",
        "refs",
        "reftable",
        "shallow",
        "worktrees",
    ];
    assert_eq!(pair.names(""), all);
    assert_eq!(pair.names("info"), ["attributes", "exclude"]);
    assert_eq!(pair.names("objects/info"), ["commit-graph", "commit-graphs"]);
    assert_eq!(pair.names("objects").len(), 258);
    for name in
        ["HEAD", "refs", "packed-refs", "logs", "objects/ab", "objects/00", "objects/pack", "objects/info/commit-graph"]
    {
        assert_eq!(fs::read_link(pair.owned.path.join(name)).unwrap(), pair.common.join(name));
    }
    assert_eq!(fs::read_to_string(pair.owned.path.join("info/exclude")).unwrap(), "info/exclude\n");
    let mode = |name: &str| fs::symlink_metadata(pair.owned.path.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("objects"), mode("config"), mode("info/exclude")), (0o700, 0o700, 0o600, 0o600));
}

#[test]
fn what_did_not_change_is_not_touched() {
    let mut pair = Pair::new();
    pair.update();
    let before = ["", "config", "info/exclude", "objects/ab", "refs"].map(|name| pair.inode(name));
    assert_eq!(pair.update(), Wanted::Nothing);
    // A daemon that starts anew looks at everything, and finds all of it right.
    pair.owned = Owned::at(pair.owned.path.clone());
    assert!(matches!(pair.update(), Wanted::Config(Some(_))));
    assert_eq!(before, ["", "config", "info/exclude", "objects/ab", "refs"].map(|name| pair.inode(name)));
}

#[test]
fn a_source_that_changed_is_replaced_by_rename() {
    let mut pair = Pair::new();
    pair.update();
    let (config, exclude) = (pair.inode("config"), pair.inode("info/exclude"));
    let open = fs::File::open(pair.owned.path.join("info/exclude")).unwrap();
    fs::write(pair.common.join("info/exclude"), "other patterns\n").unwrap();
    assert_eq!(pair.update(), Wanted::Nothing);
    assert_eq!(fs::read_to_string(pair.owned.path.join("info/exclude")).unwrap(), "other patterns\n");
    assert_ne!(pair.inode("info/exclude"), exclude);
    assert_eq!(io::read_to_string(open).unwrap(), "info/exclude\n", "a git that reads the old one still does");
    fs::write(pair.common.join("config"), "longer than it was\n").unwrap();
    assert!(matches!(pair.update(), Wanted::Config(Some(_))));
    assert_eq!(pair.inode("config"), config, "what git is given stayed the same");
    fs::remove_file(pair.common.join("config")).unwrap();
    fs::remove_file(pair.common.join("info/exclude")).unwrap();
    fs::write(pair.common.join("info/grafts"), "").unwrap();
    assert_eq!(pair.update(), Wanted::Config(None));
    assert_eq!(pair.names("info"), ["attributes", "grafts"]);
}

#[test]
fn what_somebody_removed_or_put_there_is_set_right() {
    let mut pair = Pair::new();
    pair.update();
    let path = pair.owned.path.clone();
    // Some clocks of file systems stand still for milliseconds: let what comes next show.
    for directory in ["", "objects", "objects/info"] {
        fs::File::open(path.join(directory)).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    pair.update();
    fs::remove_file(path.join("refs")).unwrap();
    fs::remove_file(path.join("objects/ab")).unwrap();
    fs::create_dir(path.join("hooks")).unwrap();
    fs::write(path.join("hooks/post-checkout"), "evil").unwrap();
    pair.update();
    assert_eq!(fs::read_link(path.join("refs")).unwrap(), pair.common.join("refs"));
    assert_eq!(fs::read_link(path.join("objects/ab")).unwrap(), pair.common.join("objects/ab"));
    assert!(!path.join("hooks").exists());
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert!(matches!(pair.update(), Wanted::Config(Some(_))));
    assert!(path.join("config").exists());
}

#[test]
fn another_repository_under_the_same_name_takes_its_place_whole() {
    let mut pair = Pair::new();
    pair.update();
    let moved = pair.common.with_file_name("moved");
    fs::rename(&pair.common, &moved).unwrap();
    pair.common = moved;
    assert!(matches!(pair.update(), Wanted::Config(Some(_))));
    assert_eq!(fs::read_link(pair.owned.path.join("refs")).unwrap(), pair.common.join("refs"));
    assert_eq!(fs::read_link(pair.owned.path.join("objects/ab")).unwrap(), pair.common.join("objects/ab"));
}

#[test]
fn a_link_in_the_place_of_a_part_of_the_repository_is_refused() {
    for name in
        ["refs", "packed-refs", "logs", "shallow", "worktrees", "objects", "objects/pack", "objects/info/commit-graph"]
    {
        let mut pair = Pair::new();
        pair.update();
        let part = pair.common.join(name);
        if part.exists() {
            fs::rename(&part, pair.common.join("aside")).unwrap();
        }
        symlink(pair.common.join("aside"), &part).unwrap();
        let refused = pair.owned.bring_up_to_date(&pair.common, &Borrowed::AsBefore).unwrap_err();
        assert!(refused.contains(name) && refused.contains("is a link"), "{name}: {refused}");
    }
}

#[test]
fn local_patterns_behind_a_link_are_not_read() {
    let mut pair = Pair::new();
    pair.update();
    for name in COPIED {
        let path = pair.common.join("info").join(name);
        remove_unless(&path, |_| false).unwrap();
        symlink(pair.common.join("config"), path).unwrap();
    }
    pair.update();
    assert_eq!(pair.names("info"), Vec::<String>::new());
}

#[test]
fn lenders_are_written_kept_and_taken_away() {
    let mut pair = Pair::new();
    let lender = pin("/lender/.git/objects");
    let file = pair.owned.path.join("objects/info/alternates");
    pair.owned.bring_up_to_date(&pair.common, &Borrowed::From(vec![lender])).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "/lender/.git/objects\n");
    pair.owned.bring_up_to_date(&pair.common, &Borrowed::AsBefore).unwrap();
    assert!(file.exists());
    pair.owned.bring_up_to_date(&pair.common, &Borrowed::From(Vec::new())).unwrap();
    assert!(!file.exists());
    let odd = pin("/lender\n/other/objects");
    assert!(pair.owned.bring_up_to_date(&pair.common, &Borrowed::From(vec![odd])).is_err());
}

#[test]
fn the_copy_of_an_index_goes_with_its_worktree() {
    let mut pair = Pair::new();
    let [here, gone] = ["here", "gone"].map(|name| pair.common.join("worktrees").join(name));
    fs::create_dir_all(&here).unwrap();
    pair.update();
    let index = |git_dir: &Path| pair.owned.index(&pair.common, git_dir);
    let copies = [&pair.common, &here, &gone].map(|git_dir| index(git_dir));
    for copy in &copies {
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(copy, "copy").unwrap();
    }
    // A daemon that starts anew.
    pair.owned = Owned::at(pair.owned.path.clone());
    pair.update();
    assert_eq!(copies.map(|copy| copy.exists()), [true, true, false]);
}

#[test]
fn a_head_that_is_a_link_to_a_branch_is_told_as_one() {
    let mut pair = Pair::new();
    let (real, own) = (pair.common.join("HEAD"), pair.owned.path.join("HEAD"));
    pair.update();
    assert_eq!(fs::read_link(&own).unwrap(), real);
    fs::remove_file(&real).unwrap();
    symlink("refs/heads/main", &real).unwrap();
    pair.update();
    assert_eq!(fs::read_link(&own).unwrap(), Path::new("refs/heads/main"));
    for elsewhere in ["/etc/hostname", "refs/heads/../../x", "refs/tags/x"] {
        fs::remove_file(&real).unwrap();
        symlink(elsewhere, &real).unwrap();
        pair.update();
        assert_eq!(fs::read_link(&own).unwrap(), real, "{elsewhere}");
    }
}
