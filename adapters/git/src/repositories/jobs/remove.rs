//! Removes a worktree or an entry with all that is in it, directories included that nobody may write to: a Go module cache
//! is made of them. MUST NOT follow a link.

use nix::{
    fcntl::OFlag,
    sys::stat::{Mode, fchmod, fstat},
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Removes what stands at a path with all that is in it; of a link the link itself. What is gone is no error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    if !there.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Gives the owner every right on a directory and on those in it. A link that takes a directory's place is not opened.
fn open_up(directory: &Path) -> io::Result<()> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let opened: File = OpenOptions::new().read(true).custom_flags(flags.bits()).open(directory)?;
    let mode = Mode::from_bits_truncate(fstat(&opened)?.st_mode);
    if !mode.contains(Mode::S_IRWXU) {
        fchmod(&opened, mode | Mode::S_IRWXU)?;
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
    use tempfile::TempDir;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn directories_that_nobody_may_write_to_are_opened_up_and_removed_and_no_link_is_followed() {
        let home = TempDir::new().unwrap();
        let (tree, other) = (home.path().join("tree"), home.path().join("other"));
        let deep = tree.join("mod/deep");
        for directory in [&deep, &other] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("file"), "x").unwrap();
        }
        symlink(&other, tree.join("link")).unwrap();
        let closed = [&deep, deep.parent().unwrap(), &other];
        let close = || closed.map(|path| fs::set_permissions(path, PermissionsExt::from_mode(0o555)).unwrap());
        close();
        open_up(&tree).unwrap();
        assert_eq!(closed.map(mode), [0o755, 0o755, 0o555]);
        assert!(open_up(&tree.join("link")).is_err());
        close();
        remove(&tree).unwrap();
        assert!(!tree.exists() && other.join("file").exists());
        fs::set_permissions(&other, PermissionsExt::from_mode(0o755)).unwrap();
    }
}
