//! The directory that git is given in place of a repository's common one (D14): a configuration of Owl's own, and links
//! to objects and refs. Its path is stable for the Project, since it is part of what is shown. It is brought up to date
//! before each run; what did not change is not touched, and what did is replaced by rename, under a git that runs.

use crate::{
    config::{Config, OfWorktree},
    links::{self, is_a_link},
    pins::Identity,
    read::{Stamp, read_small},
};
use owl_domain::project::Pin;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

/// What is a link to the entry of that name in the real directory, there or not.
const LINKED: [&str; 6] = ["refs", "packed-refs", "logs", "shallow", WORKTREES, "reftable"];
/// Likewise, but for a head that is a link itself.
const HEAD: &str = "HEAD";
/// The same of the real `objects/info`.
const LINKED_INFO: [&str; 2] = ["commit-graph", "commit-graphs"];
/// What is a copy of the file of that name in the real `info`: none of them starts anything that a `.gitattributes` of
/// the work tree could not.
const COPIED: [&str; 3] = ["exclude", "attributes", "grafts"];
/// Lines by the thousand; more is none of them.
const COPIED_BYTES: u64 = 1024 * 1024;
/// Where the copies of the index are, laid out as the real directory is: its own, then those of the linked worktrees.
const INDEXES: &str = "indexes";
const WORKTREES: &str = "worktrees";
/// Worktrees whose own configurations are kept at a time.
const MOST_WORKTREES: usize = 256;
/// Where the new one is written before it takes its place. One writer at a time holds the directory.
const NEW: &str = ".new";

/// One such directory, and what its sources were when it was last brought up to date.
#[derive(Debug)]
pub(crate) struct Owned {
    path: PathBuf,
    made_of: Option<MadeOf>,
    of_worktrees: OfWorktrees,
}

/// What was read of the worktrees' own configurations.
#[derive(Debug)]
enum OfWorktrees {
    /// The repository has none.
    None,
    /// By git directory, each as it was when its file had this stamp.
    Each(BTreeMap<PathBuf, (Option<Stamp>, OfWorktree)>),
}

/// What the directory was made of.
#[derive(Debug, PartialEq, Eq)]
struct MadeOf {
    common: (PathBuf, Identity),
    /// Owl's own directories, so that it shows when somebody tidied up in them.
    own: [Option<Stamp>; 3],
    config: Option<Option<Stamp>>,
    info: [Option<Stamp>; COPIED.len()],
    objects: links::Objects,
}

/// What is still missing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing.
    Nothing,
    /// The configuration, of this stamp, to be read by git and given to [`Owned::set_config`].
    Config(Option<Stamp>),
}

/// What is borrowed.
#[derive(Debug, Clone)]
pub(crate) enum Borrowed {
    /// As it was last time: the call does not read objects, or may fail without them.
    AsBefore,
    /// Exactly these objects directories.
    From(Vec<Pin>),
}

impl Owned {
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path, made_of: None, of_worktrees: OfWorktrees::None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Brings all but the configuration up to date, and says whether that must be read anew.
    pub(crate) fn bring_up_to_date(&mut self, common: &Path, borrowed: &Borrowed) -> Result<Wanted, String> {
        self.try_to(common, borrowed).map_err(|error| format!("`{}`: {error}", self.path.display()))
    }

    fn try_to(&mut self, common: &Path, borrowed: &Borrowed) -> io::Result<Wanted> {
        refuse_links(common, LINKED)?;
        refuse_links(&common.join("objects/info"), LINKED_INFO)?;
        let mut made_of = match self.made_of.take() {
            Some(made_of)
                if made_of.common == (common.into(), Identity::at(common)?) && made_of.own == self.own()? =>
            {
                made_of
            }
            Some(_) | None => self.make(common)?,
        };
        made_of.objects.refuse_links(&common.join("objects"))?;
        // By it git sees what the main worktree has checked out.
        let head = common.join(HEAD);
        self.link(HEAD, &links::branch_of(&head).unwrap_or(head))?;
        for (name, known) in COPIED.iter().zip(&mut made_of.info) {
            let stamp = Stamp::of(&common.join("info").join(name))?;
            if *known != stamp {
                self.copy_info(common, name)?;
                *known = stamp;
            }
        }
        if let Borrowed::From(lenders) = borrowed {
            self.write_alternates(lenders)?;
        }
        made_of.own = self.own()?;
        let config = Stamp::of(&common.join("config"))?;
        let wanted = if made_of.config == Some(config) { Wanted::Nothing } else { Wanted::Config(config) };
        self.made_of = Some(made_of);
        Ok(wanted)
    }

    /// Puts the configuration in place that was read when its source had this stamp.
    pub(crate) fn set_config(&mut self, stamp: Option<Stamp>, config: &Config) -> Result<(), String> {
        let put = self.put("config", config.text.as_bytes()).and_then(|()| self.own());
        let own = put.map_err(|error| format!("`{}`: {error}", self.path.display()))?;
        self.of_worktrees =
            if config.has_one_per_worktree { OfWorktrees::Each(BTreeMap::new()) } else { OfWorktrees::None };
        if let Some(made_of) = &mut self.made_of {
            made_of.config = Some(stamp);
            made_of.own = own;
        }
        Ok(())
    }

    /// Says whether each worktree has a configuration of its own.
    pub(crate) const fn has_one_per_worktree(&self) -> bool {
        matches!(self.of_worktrees, OfWorktrees::Each(_))
    }

    /// Returns what was read of a worktree's own configuration when its file had this stamp.
    pub(crate) fn of_worktree(&self, git_dir: &Path, stamp: Option<Stamp>) -> Option<&OfWorktree> {
        let OfWorktrees::Each(each) = &self.of_worktrees else { return None };
        each.get(git_dir).filter(|(known, _)| *known == stamp).map(|(_, own)| own)
    }

    /// Keeps what was read of it.
    pub(crate) fn keep_of_worktree(&mut self, git_dir: PathBuf, stamp: Option<Stamp>, own: OfWorktree) {
        let OfWorktrees::Each(each) = &mut self.of_worktrees else { return };
        // Worktrees come and go by the hundred.
        if each.len() == MOST_WORKTREES {
            each.clear();
        }
        each.insert(git_dir, (stamp, own));
    }

    /// Makes what is missing, sets right what is wrong, and removes what does not belong there.
    fn make(&self, common: &Path) -> io::Result<MadeOf> {
        for directory in ["info", "objects/info", INDEXES] {
            let path = self.path.join(directory);
            for above in path.ancestors().take_while(|above| above.starts_with(&self.path)) {
                remove_unless(above, |there| there.is_dir())?;
            }
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
        for name in LINKED {
            self.link(name, &common.join(name))?;
        }
        for name in LINKED_INFO {
            self.link(&format!("objects/info/{name}"), &common.join("objects/info").join(name))?;
        }
        // Every place that git may ever put an object in, there or not: one that is made in the next moment is seen.
        let places: BTreeSet<_> = (0..=0xff).map(|byte| format!("{byte:02x}")).chain(["pack".into()]).collect();
        for name in &places {
            self.link(&format!("objects/{name}"), &common.join("objects").join(name))?;
        }
        self.keep_only("", |name| {
            LINKED.contains(&name) || [HEAD, "config", "info", "objects", INDEXES].contains(&name)
        })?;
        self.keep_only("info", |name| COPIED.contains(&name))?;
        self.keep_only("objects", |name| name == "info" || places.contains(name))?;
        self.keep_only("objects/info", |name| LINKED_INFO.contains(&name) || name == "alternates")?;
        for name in COPIED {
            remove_unless(&self.path.join("info").join(name), |there| there.is_file())?;
        }
        self.forget_worktrees(common)?;
        Ok(MadeOf {
            common: (common.into(), Identity::at(common)?),
            own: self.own()?,
            config: None,
            // Not the stamp of anything that exists: whatever there is is copied.
            info: [Stamp::of(&self.path)?; COPIED.len()],
            objects: links::Objects::default(),
        })
    }

    fn own(&self) -> io::Result<[Option<Stamp>; 3]> {
        let stamp = |name: &str| Stamp::of(&self.path.join(name));
        Ok([stamp("")?, stamp("objects")?, stamp("objects/info")?])
    }

    fn link(&self, name: &str, target: &Path) -> io::Result<()> {
        let path = self.path.join(name);
        if fs::read_link(&path).is_ok_and(|there| there == target) {
            return Ok(());
        }
        remove_unless(&path, |_| false)?;
        symlink(target, path)
    }

    fn keep_only(&self, directory: &str, belongs: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(self.path.join(directory))? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(&belongs) {
                remove_unless(&entry.path(), |_| false)?;
            }
        }
        Ok(())
    }

    /// Copies a file of `info`. A link there is not followed: what it leads to would be told by what it matches.
    fn copy_info(&self, common: &Path, name: &str) -> io::Result<()> {
        let (info, copy) = (common.join("info"), format!("info/{name}"));
        let real = info.join(name);
        let is =
            |path: &Path, kind: fn(&fs::Metadata) -> bool| fs::symlink_metadata(path).is_ok_and(|there| kind(&there));
        if !is(&info, fs::Metadata::is_dir) || !is(&real, fs::Metadata::is_file) {
            return remove_unless(&self.path.join(copy), |_| false);
        }
        let named = |error: io::Error| io::Error::new(error.kind(), format!("`{}`: {error}", real.display()));
        self.put(&copy, &read_small(&real, COPIED_BYTES).map_err(named)?.unwrap_or_default())
    }

    /// Returns where the copy of a worktree's index is.
    pub(crate) fn index(&self, common: &Path, git_dir: &Path) -> PathBuf {
        let below = git_dir.strip_prefix(common).unwrap_or(Path::new(""));
        self.path.join(INDEXES).join(below).join("index")
    }

    /// Removes the copies of worktrees that are no more.
    fn forget_worktrees(&self, common: &Path) -> io::Result<()> {
        let copies = match fs::read_dir(self.path.join(INDEXES).join(WORKTREES)) {
            Ok(copies) => copies,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for copy in copies {
            let copy = copy?;
            if fs::symlink_metadata(common.join(WORKTREES).join(copy.file_name())).is_err() {
                remove_unless(&copy.path(), |_| false)?;
            }
        }
        Ok(())
    }

    fn write_alternates(&self, lenders: &[Pin]) -> io::Result<()> {
        let name = "objects/info/alternates";
        if lenders.is_empty() {
            return remove_unless(&self.path.join(name), |_| false);
        }
        if lenders.iter().any(|lender| lender.path.as_str().contains('\n')) {
            return Err(io::Error::other("a path with a newline cannot be named to git"));
        }
        let lines: String = lenders.iter().flat_map(|lender| [lender.path.as_str(), "\n"]).collect();
        self.put(name, lines.as_bytes())
    }

    /// Puts a file in place by rename, unless the very same stands there.
    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let there = read_small(&path, content.len() as u64);
        if there.is_ok_and(|there| there.is_some_and(|there| there == content)) {
            return Ok(());
        }
        // Beside all that a running git may list.
        let new = self.path.with_file_name(self.path.file_name().map_or_else(OsString::new, |name| {
            let mut new = OsString::from(NEW);
            new.push("-");
            new.push(name);
            new
        }));
        remove_unless(&new, |_| false)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?.write_all(content)?;
        fs::rename(new, path)
    }
}

/// Removes what stands at a path, whatever it is, unless it may stay.
fn remove_unless(path: &Path, may_stay: impl Fn(&fs::Metadata) -> bool) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if may_stay(&there) => Ok(()),
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A link in the place of a part of the repository would make another one's part of it.
fn refuse_links(directory: &Path, names: impl IntoIterator<Item = &'static str>) -> io::Result<()> {
    for name in names {
        let path = directory.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
            return Err(is_a_link(&path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
