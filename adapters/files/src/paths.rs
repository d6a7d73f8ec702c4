//! Where words really lead: the `Paths` port on this host (ADR-0022, D12). A look opens nothing for reading and follows
//! no magic link; what it found and what the kernel's rule is made of are one descriptor. It tells facts, never a verdict.

mod place;
mod root;
mod walk;

#[cfg(target_os = "linux")]
mod openat2;
mod portable;

use async_trait::async_trait;
use nix::sys::stat::FileStat;
use owl_domain::{
    ports::{Below, Depth, FileKind, Found, Handle, LocateError, Located, Look, Paths, Place},
    project::{Pins, Workdir},
    text::AbsPath,
};
use place::Standing;
use root::Root;
use std::path::PathBuf;

/// Entries of one tree that are looked at; beyond it the answer would take longer than a person waits.
const TREE_ENTRIES: u32 = 1_000_000;

/// The paths of this host.
#[derive(Debug, Clone, Copy)]
pub struct HostPaths {
    lookup: Lookup,
    tree_entries: u32,
}

/// How a word is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// By the kernel, in one call that ends in a descriptor, whose place the kernel then tells.
    #[cfg(target_os = "linux")]
    Openat2,
    /// Step by step, where the kernel has no such call.
    Portable,
}

impl HostPaths {
    /// Tries the kernel's own look-up once and takes the portable one where that does not work.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(target_os = "linux")]
        if openat2::works() {
            return Self { lookup: Lookup::Openat2, tree_entries: TREE_ENTRIES };
        }
        Self { lookup: Lookup::Portable, tree_entries: TREE_ENTRIES }
    }

    fn look(self, root: &Root, pins: &Pins, word: &str) -> Place {
        if word.is_empty() || word.starts_with('/') || word.contains('\0') {
            return Place::Unknown { reason: "it is not a relative path".into() };
        }
        let opened = match self.lookup {
            #[cfg(target_os = "linux")]
            Lookup::Openat2 => openat2::open(root, word),
            Lookup::Portable => portable::open(root, word),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(Miss::Absent) => return Place::Absent,
            Err(Miss::BrokenLink) => return Place::BrokenLink,
            Err(Miss::Outside(place)) => return Place::Outside { leads_to: place::leads_to(root, &place) },
            Err(Miss::Unknown(reason)) => return Place::Unknown { reason },
        };
        match place::judge(root, pins, &opened) {
            Standing::Outside => Place::Outside { leads_to: place::leads_to(root, &opened.place) },
            Standing::Git => Place::Git,
            Standing::Unknown(reason) => Place::Unknown { reason },
            Standing::Inside => found(opened),
        }
    }

    /// Walks below a directory on a thread that may wait.
    async fn below(self, tree: Handle, pins: &Pins) -> Result<Below, String> {
        let (pins, most) = (pins.clone(), self.tree_entries);
        let walked = tokio::task::spawn_blocking(move || walk::walk(&tree, &pins, most)).await;
        walked.unwrap_or_else(|_| Err("the walk below it did not end".into()))
    }
}

impl Default for HostPaths {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Paths for HostPaths {
    async fn locate(&self, workdir: &Workdir, looks: &[Look]) -> Result<Located, LocateError> {
        // A look takes microseconds, less than handing it to another thread would; only a walk is handed over.
        let root = Root::open(&workdir.pins.work_tree)?;
        let mut places = Vec::with_capacity(looks.len());
        for look in looks {
            let mut place = self.look(&root, &workdir.pins, &look.word);
            if let Place::Inside(found) = &mut place
                && look.depth == Depth::Tree
                && found.kind == FileKind::Directory
            {
                match self.below(found.handle.clone(), &workdir.pins).await {
                    Ok(below) => found.below = below,
                    Err(reason) => place = Place::Unknown { reason },
                }
            }
            places.push(place);
        }
        Ok(Located { root: root.handle, places })
    }

    async fn resolve(&self, path: &AbsPath) -> Option<AbsPath> {
        // Anybody's path, on any file system: it may wait, so it goes to a thread that may.
        let resolved = tokio::fs::canonicalize(path.as_str()).await.ok()?;
        AbsPath::new(resolved.to_str()?).ok()
    }
}

/// Something that exists, opened without reading it.
struct Opened {
    handle: Handle,
    stat: FileStat,
    /// Where it is, resolved.
    place: PathBuf,
}

/// Why nothing was opened.
enum Miss {
    /// Nothing is there, and no part of the way is a link.
    Absent,
    /// Nothing is there, or what the kernel makes up on the spot, by way of a link.
    BrokenLink,
    /// The way leads out before it ends.
    Outside(PathBuf),
    /// It could not be looked at.
    Unknown(String),
}

fn found(opened: Opened) -> Place {
    let kind = match place::Kind::of(&opened.stat) {
        place::Kind::Is(kind) => kind,
        place::Kind::Link | place::Kind::Strange => {
            return Place::Unknown { reason: "it is neither a file nor a directory".into() };
        }
    };
    let Some(path) = opened.place.to_str().and_then(|path| AbsPath::new(path).ok()) else {
        return Place::Unknown { reason: "it leads to a name that is not UTF-8".into() };
    };
    Place::Inside(Found { kind, path, handle: opened.handle, below: Below::NotAsked })
}

#[cfg(test)]
mod tests;
