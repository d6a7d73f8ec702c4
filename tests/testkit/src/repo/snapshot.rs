//! What lies below a directory at one moment, so that a test can say that nothing of it changed.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fs,
    hash::{Hash as _, Hasher as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

/// Every file, directory and link below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, Entry>);

/// What a name is: kind and mode, owner of its content, times of its last change, and the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: u64,
}

impl Snapshot {
    /// Takes one. Reads every regular file; opens nothing else but directories.
    pub fn of(directory: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut left = vec![directory.to_path_buf()];
        while let Some(path) = left.pop() {
            let there = fs::symlink_metadata(&path).unwrap();
            let mut content = DefaultHasher::new();
            if there.is_dir() {
                left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if there.is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().hash(&mut content);
            } else if there.is_file() {
                fs::read(&path).unwrap().hash(&mut content);
            }
            let entry = Entry {
                inode: there.ino(),
                mode: there.mode(),
                size: there.size(),
                modified: (there.mtime(), there.mtime_nsec()),
                changed: (there.ctime(), there.ctime_nsec()),
                content: content.finish(),
            };
            found.insert(path, entry);
        }
        Self(found)
    }

    /// Returns the names that came, went or changed since.
    pub fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let names = self.0.keys().chain(before.0.keys().filter(|name| !self.0.contains_key(*name)));
        names.filter(|name| self.0.get(*name) != before.0.get(*name)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Snapshot;
    use std::fs;

    #[test]
    fn whatever_came_went_or_changed_is_named() {
        let dir = tempfile::TempDir::new().unwrap();
        for name in ["stays", "goes", "changes"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let before = Snapshot::of(dir.path());
        assert_eq!(Snapshot::of(dir.path()).changed_since(&before), Vec::<std::path::PathBuf>::new());
        fs::remove_file(dir.path().join("goes")).unwrap();
        fs::write(dir.path().join("changes"), "Changes").unwrap();
        fs::write(dir.path().join("came"), "").unwrap();
        let names = Snapshot::of(dir.path()).changed_since(&before);
        let names: Vec<_> = names.iter().map(|name| name.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["", "came", "changes", "goes"]);
    }
}
