//! A file system in memory that follows the rules of the path port, so that whole lines can be judged without a disk.

use crate::{
    gate::{Checked, Confinement, Denial, Facts, Program, Sandbox, Shown, check_in, propose},
    git_names::spells_dot_git,
    ports::{Below, Depth, FileKind, Found, GitHome, Handle, Hidden, Located, Look, Place, Wall},
    project::{Pin, Pins, Workdir},
    text::{AbsPath, ProjectName},
};
use std::collections::BTreeMap;

/// The workdir of every line.
pub(crate) const ROOT: &str = "/home/u/shop";

#[derive(Debug, Clone)]
enum Node {
    Thing(FileKind),
    Link(String),
}

/// The tree that the lists of `tests/gate` are written for.
#[derive(Debug, Clone)]
pub(crate) struct Tree(BTreeMap<String, Node>);

enum Led {
    To(String, FileKind),
    Nowhere { by_link: bool },
}

impl Tree {
    /// What a person works in, with everything beside it that could go wrong.
    pub(crate) fn shop() -> Self {
        let mut tree = Self(BTreeMap::new());
        tree.add("/dev/zero", Node::Thing(FileKind::Device));
        for path in [
            "/etc/passwd",
            "/proc/self/environ",
            "/home/u/other/secret.txt",
            "/home/u/other/dir/secret.txt",
            "/home/u/README.out.md",
        ] {
            tree.add(path, Node::Thing(FileKind::File));
        }
        for file in [
            "README.md",
            "Cargo.toml",
            "Cargo.lock",
            "CHANGELOG.md",
            "src/main.rs",
            "src/lib.rs",
            "src/login.rs",
            "src/util/mod.rs",
            "docs/guide.md",
            "docs/design notes.md",
            "docs/it's.md",
            "docs/[draft].md",
            "docs/ünïcode-名前.md",
            "tests/it.rs",
            "examples/demo/main.rs",
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".github/workflows/ci.yml",
            ".github/CODEOWNERS",
            ".gitlab/ci.yml",
            "app/[slug]/page.tsx",
            "weird (1).txt",
            "a.b",
            "docs.git/readme.txt",
            "..notparent",
            "...",
            "..dir/file",
            "~",
            "$HOME",
            "star*name.txt",
            "a;b.txt",
            "-n",
            "-rf",
            "--help",
            "empty.txt",
            "big.txt",
            "line\nfeed.txt",
            // The repository's own git data, one inside it, one behind another name, and a bare one.
            ".git/config",
            ".git/HEAD",
            ".git/objects/x",
            ".git/refs/heads/main",
            "vendor/inner/README.md",
            "vendor/inner/.git/config",
            "scratch/README.md",
            "scratch/.git",
            "mirror.git/HEAD",
            "mirror.git/config",
            "mirror.git/objects/x",
            "mirror.git/refs/x",
            "gitdata/HEAD",
            "gitdata/config",
            "gitdata/objects/x",
            "gitdata/refs/x",
            "casing/git~1/config",
            "casing/.git./config",
        ] {
            tree.add(&format!("{ROOT}/{file}"), Node::Thing(FileKind::File));
        }
        for (link, target) in owl_testkit::repo::SHOP_LINKS {
            tree.add(&format!("{ROOT}/{link}"), Node::Link(target.into()));
        }
        tree.add(&format!("{ROOT}/pipe"), Node::Thing(FileKind::Fifo));
        tree.add(&format!("{ROOT}/tests/pipe2"), Node::Thing(FileKind::Fifo));
        tree.add(&format!("{ROOT}/sock"), Node::Thing(FileKind::Socket));
        tree
    }

    fn add(&mut self, path: &str, node: Node) {
        self.0.insert(path.into(), node);
        for (at, _) in path.match_indices('/').skip(1) {
            self.0.entry(path[..at].into()).or_insert(Node::Thing(FileKind::Directory));
        }
    }

    /// Puts a link where something stands.
    pub(crate) fn swap_for_link(&mut self, path: &str, target: &str) {
        self.add(&format!("{ROOT}/{path}"), Node::Link(target.into()));
    }

    /// Puts one more file there.
    pub(crate) fn add_file(&mut self, path: &str) {
        self.add(&format!("{ROOT}/{path}"), Node::Thing(FileKind::File));
    }

    /// Looks words up as the path port does.
    pub(crate) fn locate(&self, looks: &[Look]) -> Located {
        Located { root: Handle::new(ROOT.to_owned()), places: looks.iter().map(|look| self.place(look)).collect() }
    }

    fn place(&self, look: &Look) -> Place {
        let mut steps = 0;
        match self.follow(ROOT, &look.word, &mut steps) {
            Led::Nowhere { by_link: false } => Place::Absent,
            Led::Nowhere { by_link: true } => Place::BrokenLink,
            Led::To(path, _) if path != ROOT && !path.starts_with(&format!("{ROOT}/")) => Place::Outside {
                leads_to: path.strip_prefix("/home/u/").map_or(path.clone(), |rest| format!("../{rest}")),
            },
            Led::To(path, _) if self.is_git_data(&path) => Place::Git,
            Led::To(path, kind) => {
                let below = match (look.depth, kind) {
                    (Depth::Tree, FileKind::Directory) => Below::Hidden(self.hidden_below(&path)),
                    _ => Below::NotAsked,
                };
                Place::Inside(Found {
                    kind,
                    path: AbsPath::new(path.clone()).unwrap(),
                    handle: Handle::new(path),
                    below,
                })
            }
        }
    }

    fn follow(&self, from: &str, path: &str, steps: &mut u32) -> Led {
        let mut at = if path.starts_with('/') { String::new() } else { from.to_owned() };
        for part in path.split('/') {
            match part {
                "" | "." => continue,
                _ if !matches!(self.kind(&at), Some(FileKind::Directory)) => {
                    return Led::Nowhere { by_link: *steps > 0 };
                }
                ".." => at.truncate(at.rfind('/').unwrap_or(0)),
                name => {
                    let next = format!("{at}/{name}");
                    match self.0.get(&next) {
                        None => return Led::Nowhere { by_link: *steps > 0 },
                        Some(Node::Thing(_)) => at = next,
                        Some(Node::Link(target)) => {
                            *steps += 1;
                            if *steps > 40 {
                                return Led::Nowhere { by_link: true };
                            }
                            match self.follow(&at, target, steps) {
                                Led::To(path, _) => at = path,
                                nowhere @ Led::Nowhere { .. } => return nowhere,
                            }
                        }
                    }
                }
            }
        }
        match self.kind(&at) {
            Some(kind) => Led::To(at, kind),
            None => Led::Nowhere { by_link: *steps > 0 },
        }
    }

    fn kind(&self, path: &str) -> Option<FileKind> {
        match self.0.get(path) {
            _ if path.is_empty() => Some(FileKind::Directory),
            Some(Node::Thing(kind)) => Some(*kind),
            Some(Node::Link(_)) | None => None,
        }
    }

    fn is_git_data(&self, path: &str) -> bool {
        let inside = path.strip_prefix(ROOT).unwrap_or_default();
        let mut at = ROOT.to_owned();
        inside.split('/').filter(|part| !part.is_empty()).any(|part| {
            at = format!("{at}/{part}");
            spells_dot_git(part.as_bytes()) || self.is_bare(&at)
        })
    }

    fn is_bare(&self, path: &str) -> bool {
        self.kind(&format!("{path}/HEAD")).is_some()
            && ["objects", "refs"].iter().all(|name| self.kind(&format!("{path}/{name}")) == Some(FileKind::Directory))
    }

    fn hidden_below(&self, path: &str) -> Vec<Hidden> {
        let inside = format!("{path}/");
        let mut hidden: Vec<&str> = Vec::new();
        for below in self.0.keys().filter_map(|key| key.strip_prefix(&inside)) {
            let name = below.rsplit('/').next().unwrap();
            let is_hidden = spells_dot_git(name.as_bytes()) || self.is_bare(&format!("{inside}{below}"));
            if is_hidden && !hidden.iter().any(|above| below.starts_with(&format!("{above}/"))) {
                hidden.push(below);
            }
        }
        hidden.into_iter().map(|path| Hidden(path.as_bytes().to_vec())).collect()
    }
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn pin(text: &str) -> Pin {
    Pin { path: path(text), device: 1, inode: text.len() as u64 }
}

/// The workdir of every line.
pub(crate) fn workdir() -> Workdir {
    let git = pin("/home/u/shop/.git");
    Workdir {
        project: ProjectName::new("shop").unwrap(),
        pins: Pins { work_tree: pin(ROOT), git_dir: git.clone(), common_dir: git },
    }
}

/// What git is given.
pub(crate) fn git_home() -> GitHome {
    GitHome {
        git_dir: path("/home/u/shop/.git"),
        work_tree: path(ROOT),
        real_common_dir: path("/home/u/shop/.git"),
        owned_common_dir: path("/home/u/.local/state/coding-owl/git/shop"),
        index: path("/home/u/.local/state/coding-owl/git/shop/indexes/index"),
        lenders: Vec::new(),
        readable: Vec::new(),
        settings: Vec::new(),
    }
}

/// The facts about one line.
pub(crate) fn facts(tree: &Tree, checked: &Checked) -> Facts {
    Facts {
        workdir: workdir(),
        program: Some(program(checked.program())),
        wall: Wall {
            sandbox: Sandbox::Auto,
            confinement: Confinement::Both,
            landlock_abi: Some(7),
            missing: Vec::new(),
        },
        located: tree.locate(checked.looks()),
        git: checked.needs_git().then(git_home),
    }
}

/// Where a program is.
pub(crate) fn program(program: Program) -> AbsPath {
    path(&format!("/usr/bin/{}", program.name()))
}

/// Judges one line, as the first pass does.
pub(crate) fn verdict_in(tree: &Tree, line: &str) -> Result<Shown, Denial> {
    let checked = check_in(line, workdir().path())?;
    let facts = facts(tree, &checked);
    propose(checked, &facts)
}

/// Judges one line in the shop.
pub(crate) fn verdict(line: &str) -> Result<Shown, Denial> {
    verdict_in(&Tree::shop(), line)
}
