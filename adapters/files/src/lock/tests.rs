use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

#[test]
fn a_second_one_is_refused_and_told_who_holds_it() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let lock = DataLock::take(&path).unwrap();
    let Err(LockError::Held { path: named, pid }) = DataLock::take(&path) else { panic!("two hold it") };
    assert_eq!((named, pid), (path.clone(), Some(std::process::id())));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    drop(lock);
    DataLock::take(&path).unwrap();
}

#[test]
fn of_many_that_start_in_the_same_moment_exactly_one_wins() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let barrier = std::sync::Barrier::new(16);
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    DataLock::take(&path)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(taken.iter().filter(|lock| lock.is_ok()).count(), 1);
    assert!(taken.iter().all(|lock| matches!(lock, Ok(_) | Err(LockError::Held { .. }))));
}

#[test]
fn a_file_left_by_a_dead_daemon_is_no_lock() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    std::fs::write(&path, "4194303 and much more that was there before\n").unwrap();
    let _lock = DataLock::take(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
}

#[test]
fn a_lock_file_that_was_replaced_is_not_taken_for_the_one_that_is_held() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lock");
    let held = create_file(&path).unwrap();
    assert!(stands_at(&held, &path).unwrap());
    std::fs::rename(&path, directory.path().join("aside")).unwrap();
    assert!(!stands_at(&held, &path).unwrap());
    create_file(&path).unwrap();
    assert!(!stands_at(&held, &path).unwrap());
}

#[test]
fn a_link_or_a_directory_in_its_place_is_refused() {
    let directory = TempDir::new().unwrap();
    let target = directory.path().join("elsewhere");
    std::fs::write(&target, "kept").unwrap();
    let path = directory.path().join("lock");
    symlink(&target, &path).unwrap();
    assert!(matches!(DataLock::take(&path), Err(LockError::File(PrivateError::NotThat { .. }))));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(DataLock::take(&path), Err(LockError::File(PrivateError::NotThat { .. }))));
}
