use super::*;
use nix::sys::stat::Mode;
use std::os::unix::fs::{chown, symlink};
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & MODE_BITS
}

#[test]
fn what_exists_is_tightened_and_what_leads_to_it_is_left_alone() {
    let home = TempDir::new().unwrap();
    let (a, b) = (home.path().join("a"), home.path().join("a/b"));
    std::fs::create_dir_all(&b).unwrap();
    for path in [&a, &b] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    create_dir(&b).unwrap();
    assert_eq!((mode(&a), mode(&b)), (0o755, 0o700));
    let file = b.join("file");
    std::fs::write(&file, "kept").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    create_file(&file).unwrap();
    assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap().as_str()), (0o600, "kept"));
}

#[test]
fn what_belongs_to_somebody_else_is_refused_and_not_touched() {
    let home = TempDir::new().unwrap();
    let theirs = home.path().join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    std::fs::set_permissions(&theirs, Permissions::from_mode(0o755)).unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    symlink(home.path(), home.path().join("link")).unwrap();
    // Only a privileged user may give a file away.
    if chown(&theirs, Some(12_345), None).is_err() {
        return;
    }
    chown(&file, Some(12_345), None).unwrap();
    std::os::unix::fs::lchown(home.path().join("link"), Some(12_345), None).unwrap();
    assert!(matches!(create_dir(&theirs), Err(PrivateError::NotOurs { uid: 12_345, .. })));
    assert!(matches!(create_file(&file), Err(PrivateError::NotOurs { uid: 12_345, .. })));
    assert!(matches!(create_dir(&home.path().join("link")), Err(PrivateError::NotOurs { uid: 12_345, .. })));
    assert_eq!((mode(&theirs), mode(&file)), (0o755, 0o644));
}

#[test]
fn a_directory_that_was_moved_and_linked_is_followed() {
    let home = TempDir::new().unwrap();
    let real = home.path().join("real");
    std::fs::create_dir(&real).unwrap();
    std::fs::set_permissions(&real, Permissions::from_mode(0o755)).unwrap();
    symlink(&real, home.path().join("link")).unwrap();
    create_dir(&home.path().join("link")).unwrap();
    assert_eq!(mode(&real), 0o700);
}

#[test]
fn something_else_in_the_place_is_named() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    symlink("nowhere", home.path().join("dangling")).unwrap();
    let pipe = home.path().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    assert!(matches!(create_dir(&file), Err(PrivateError::NotThat { .. })));
    assert!(matches!(create_dir(&file.join("below")), Err(PrivateError::Failed { .. })));
    assert!(create_dir(&home.path().join("dangling")).is_err());
    assert!(matches!(create_file(home.path()), Err(PrivateError::NotThat { .. })));
    assert!(matches!(create_file(&pipe), Err(PrivateError::NotThat { .. })));
    let error = create_file(&home.path().join("dangling")).unwrap_err();
    assert!(error.to_string().ends_with("dangling is not a file"), "{error}");
}

#[test]
fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("file");
    let target = home.path().join("target");
    std::fs::write(&target, "kept").unwrap();
    symlink(&target, &path).unwrap();
    replace_file(&path, b"first").unwrap();
    replace_file(&path, b"second").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    let mut names: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort_unstable();
    assert_eq!(names, ["file", "target"]);
}

#[test]
fn a_replacement_that_fails_leaves_what_stood_there() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("directory");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("kept"), "").unwrap();
    assert!(replace_file(&path, b"text").is_err());
    assert!(path.join("kept").exists());
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn a_reader_at_any_moment_finds_a_whole_file() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("file");
    let (old, new) = (vec![b'a'; 65_536], vec![b'b'; 65_536]);
    replace_file(&path, &old).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for turn in 0..40 {
                replace_file(&path, if turn % 2 == 0 { &new } else { &old }).unwrap();
            }
        });
        while !writer.is_finished() {
            let read = std::fs::read(&path).unwrap();
            assert!(read == old || read == new, "a part of a file was read");
        }
    });
}
