//! A process has one umask, and other tests would feel it: this one has a process to itself.

use nix::sys::stat::{Mode, umask};
use owl_files::{create_dir, create_file, replace_file};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

#[test]
fn directories_and_files_are_private_under_any_umask() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for mask in [0o000, 0o022, 0o077, 0o277, 0o777] {
        let home = tempfile::TempDir::new().unwrap();
        let (a, b) = (home.path().join("a"), home.path().join("a/b"));
        let (made, replaced) = (b.join("made"), b.join("replaced"));
        let before = umask(Mode::from_bits_truncate(mask));
        create_dir(&b).unwrap();
        create_file(&made).unwrap();
        replace_file(&replaced, b"text").unwrap();
        umask(before);
        let modes = [&a, &b, &made, &replaced].map(|path| mode(path));
        assert_eq!(modes, [0o700, 0o700, 0o600, 0o600], "umask {mask:o}");
    }
}
