//! The format of git's index, read for its paths alone: a file that git would read otherwise than Owl is refused.

use owl_domain::git_names::spells_dot_git;
use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

/// No system opens a longer path.
const MOST_NAME_BYTES: usize = 4096;
/// Where names share their beginnings a small file may hold far more of them than its size.
const MOST_NAMES_BYTES: usize = 128 * 1024 * 1024;
/// What a path takes beside its text.
const PATH_BYTES: usize = 48;
/// What stands before an entry's object name: times, device, inode, mode, owner, size.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
/// The bits of the flags that hold a name's length, all of them when it is longer.
const LENGTH: usize = 0xfff;
const EXTENDED: usize = 0x4000;
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const GITLINK: u32 = 0o160_000;

/// How long an object's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    /// The usual.
    Sha1,
    /// The longer one.
    Sha256,
}

impl Hash {
    const fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// What an index names that has to be looked at before each run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Every directory that holds an entry, from the work tree's root.
    pub(super) directories: Vec<PathBuf>,
    /// Where submodules belong.
    pub(super) gitlinks: Vec<PathBuf>,
    /// The object name of the index that this one is based on.
    pub(super) base: Option<String>,
    /// What these take, about.
    pub(super) bytes: usize,
}

/// What is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("is in no format that Owl knows")]
    Format,
    #[error("names `{0}`, which is no path of a work tree")]
    Path(String),
    #[error("names more than a work tree holds")]
    TooMuch,
    #[error("is split and changes a submodule; `git update-index --no-split-index` makes it whole")]
    Submodule,
    #[error(
        "is sparse, and git writes objects where it reads one; `git sparse-checkout reapply --no-sparse-index` makes it whole"
    )]
    Sparse,
}

/// The content of an index file.
pub(super) struct Index<'c> {
    pub(super) content: &'c [u8],
    pub(super) hash: Hash,
}

/// Where an entry begins, and whether its name is whole without the one before.
struct Entry {
    at: usize,
    stands_alone: bool,
}

impl Index<'_> {
    /// Looks at every path; returns what they name.
    pub(super) fn judge(&self) -> Result<Names, Fault> {
        if self.content.get(..4) != Some(b"DIRC") {
            return Err(Fault::Format);
        }
        let (version, count) = (self.number(4)?, self.number(8)?);
        if !(2..=4).contains(&version) {
            return Err(Fault::Format);
        }
        let (mut entries, mut names, mut directory) = (Vec::new(), Names::default(), Vec::new());
        let (mut nameless, mut bytes) = (false, 0);
        let (mut name, mut at) = (Vec::new(), 12);
        for _ in 0..count {
            let kind = self.number(at + MODE_AT)? & KIND;
            let (next, stands_alone) = self.entry(version, at, &mut name)?;
            nameless |= name.is_empty();
            bytes += name.len();
            if bytes > MOST_NAMES_BYTES {
                return Err(Fault::TooMuch);
            }
            if !name.is_empty() && !is_a_path(&name, kind == DIRECTORY) {
                return Err(Fault::Path(String::from_utf8_lossy(&name).into_owned()));
            }
            names.bytes += names.above(&name, &mut directory);
            if names.bytes > MOST_NAMES_BYTES {
                return Err(Fault::TooMuch);
            }
            if kind == GITLINK {
                // One without a name stands for an entry of the base that may have been a file.
                if name.is_empty() {
                    return Err(Fault::Submodule);
                }
                names.gitlinks.push(OsStr::from_bytes(&name).into());
                names.bytes += PATH_BYTES + name.len();
            }
            entries.push(Entry { at, stands_alone });
            at = next;
        }
        names.base = self.extensions(at, &entries)?;
        // Only what stands for an entry of the base has no name of its own.
        if nameless && names.base.is_none() { Err(Fault::Format) } else { Ok(names) }
    }

    /// Reads one name, as git does: by its length, not by where it ends. Returns where the next entry begins.
    fn entry(&self, version: u32, at: usize, name: &mut Vec<u8>) -> Result<(usize, bool), Fault> {
        let flags_at = at + STAT_BYTES + self.hash.bytes();
        let flags = self.half(flags_at)?;
        let mut from = flags_at + 2;
        if flags & EXTENDED != 0 {
            if version < 3 {
                return Err(Fault::Format);
            }
            from += 2;
        }
        let mut stands_alone = true;
        if version == 4 {
            let (strip, behind) = self.varint(from)?;
            from = behind;
            let keep = name.len().checked_sub(strip).ok_or(Fault::Format)?;
            stands_alone = keep == 0;
            name.truncate(keep);
        } else {
            name.clear();
        }
        let rest = self.content.get(from..).ok_or(Fault::Format)?;
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Fault::Format)?;
        name.extend_from_slice(rest.get(..end).unwrap_or_default());
        let told = flags & LENGTH;
        // Where the two differ git would go by one here and by the other there.
        if told != name.len().min(LENGTH) {
            return Err(Fault::Format);
        }
        if name.len() > MOST_NAME_BYTES {
            return Err(Fault::TooMuch);
        }
        let behind = from + end;
        Ok((if version == 4 { behind + 1 } else { at + ((behind - at + 8) & !7) }, stands_alone))
    }

    /// Reads what follows the entries. With a table of where they begin git reads them from there, several at a time.
    fn extensions(&self, mut at: usize, entries: &[Entry]) -> Result<Option<String>, Fault> {
        let end = self.content.len().checked_sub(self.hash.bytes()).ok_or(Fault::Format)?;
        self.is_where_extensions_begin(at, end)?;
        let mut base = None;
        while at < end {
            let name = self.content.get(at..at + 4).ok_or(Fault::Format)?;
            let from = at + 8;
            let to = from + self.number(at + 4)? as usize;
            let data = self.content.get(from..to).filter(|_| to <= end).ok_or(Fault::Format)?;
            match name {
                b"link" => {
                    let oid = data.get(..self.hash.bytes()).ok_or(Fault::Format)?;
                    base = Some(oid.iter().map(|byte| format!("{byte:02x}")).collect());
                }
                b"sdir" => return Err(Fault::Sparse),
                b"IEOT" => self.is_the_same(from, to, entries)?,
                _ => {}
            }
            at = to;
        }
        if at == end { Ok(base) } else { Err(Fault::Format) }
    }

    /// Makes sure that the last extension, which git looks for by its place alone, tells the beginning of them right.
    fn is_where_extensions_begin(&self, at: usize, end: usize) -> Result<(), Fault> {
        let Some(last) = end.checked_sub(12 + self.hash.bytes()) else { return Ok(()) };
        let is_there = self.content.get(last..last + 4) == Some(b"EOIE");
        if is_there && self.number(last + 8)? as usize != at { Err(Fault::Format) } else { Ok(()) }
    }

    /// Makes sure that a table of entries leads to those that were looked at.
    fn is_the_same(&self, from: usize, to: usize, entries: &[Entry]) -> Result<(), Fault> {
        let mut next = 0;
        for block in (from + 4..to).step_by(8) {
            let (at, count) = (self.number(block)? as usize, self.number(block + 4)? as usize);
            match entries.get(next) {
                Some(entry) if entry.at == at && entry.stands_alone => next += count,
                Some(_) | None => return Err(Fault::Format),
            }
        }
        if next == entries.len() { Ok(()) } else { Err(Fault::Format) }
    }

    fn number(&self, at: usize) -> Result<u32, Fault> {
        let bytes = self.content.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Fault::Format)?;
        Ok(u32::from_be_bytes(*bytes))
    }

    fn half(&self, at: usize) -> Result<usize, Fault> {
        let bytes = self.content.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Fault::Format)?;
        Ok(usize::from(u16::from_be_bytes(*bytes)))
    }

    /// Reads a number of variable length, and says where it ends.
    fn varint(&self, mut at: usize) -> Result<(usize, usize), Fault> {
        let mut value = 0_usize;
        loop {
            let byte = *self.content.get(at).ok_or(Fault::Format)?;
            at += 1;
            value |= usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok((value, at));
            }
            value = value.checked_add(1).filter(|value| value.leading_zeros() > 7).ok_or(Fault::Format)? << 7;
        }
    }
}

impl Names {
    /// Adds the directories above a name that are not above the one before, which stand next to each other in an index.
    /// Returns how many bytes that were.
    fn above(&mut self, name: &[u8], before: &mut Vec<u8>) -> usize {
        let last = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let directory = name.get(..last).unwrap_or_default();
        if directory == before {
            return 0;
        }
        let mut added = 0;
        for (end, _) in directory.iter().chain(b"/").enumerate().filter(|(_, byte)| **byte == b'/') {
            let above = directory.get(..end).unwrap_or_default();
            let is_known = before.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
            if !is_known && !above.is_empty() {
                self.directories.push(OsStr::from_bytes(above).into());
                added += PATH_BYTES + above.len();
            }
        }
        before.clear();
        before.extend_from_slice(directory);
        added
    }
}

/// Says whether git itself would write it: a path below the work tree, none of whose components is a way up or `.git`.
fn is_a_path(name: &[u8], is_directory: bool) -> bool {
    // A directory that is not checked out, and stands for all below.
    let path = if is_directory { name.strip_suffix(b"/").unwrap_or(name) } else { name };
    path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..") && !spells_dot_git(part))
}
