use super::*;
use std::{
    os::unix::net::{UnixListener, UnixStream},
    sync::Barrier,
};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn stale(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
    assert!(path.exists());
}

#[test]
fn the_directory_is_private_and_the_socket_its_owners_alone() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("run/coding-owl");
    let bound = listen_at(&directory.join("owl.sock"), Directory::Own).unwrap();
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("owl.sock")), 0o600);
    drop(bound);
}

#[test]
fn a_directory_of_owls_own_that_is_too_open_is_tightened() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("coding-owl");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    listen_at(&directory.join("owl.sock"), Directory::Own).unwrap();
    assert_eq!(mode(&directory), 0o700);
}

#[test]
fn a_chosen_directory_stays_as_it_is_and_is_refused_where_strangers_may_write() {
    let home = tempfile::tempdir().unwrap();
    let bind = |open: u32| {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(open)).unwrap();
        let bound = listen_at(&home.path().join(format!("{open:o}.sock")), Directory::Chosen);
        assert_eq!(mode(home.path()), open);
        bound.map(|_| ())
    };
    assert!(bind(0o755).is_ok());
    assert!(bind(0o1777).is_ok());
    assert!(matches!(bind(0o777), Err(BindError::Exposed(_))));
    assert!(matches!(bind(0o775), Err(BindError::Exposed(_))));
}

#[test]
fn a_stale_socket_gives_way() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owl.sock");
    stale(&path);
    let bound = listen_at(&path, Directory::Chosen).unwrap();
    assert!(UnixStream::connect(&path).is_ok());
    drop(bound);
}

#[test]
fn a_live_socket_stays_and_lives() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owl.sock");
    let first = listen_at(&path, Directory::Chosen).unwrap();
    let refused = listen_at(&path, Directory::Chosen).unwrap_err();
    assert!(matches!(refused, BindError::Live(_)), "{refused}");
    assert!(UnixStream::connect(&path).is_ok());
    drop(first);
}

#[test]
fn what_is_no_socket_is_never_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owl.sock");
    fs::write(&path, "precious").unwrap();
    let refused = listen_at(&path, Directory::Chosen).unwrap_err();
    assert!(matches!(refused, BindError::InTheWay(_)), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");

    let link = home.path().join("link.sock");
    std::os::unix::fs::symlink("owl.sock", &link).unwrap();
    assert!(matches!(listen_at(&link, Directory::Chosen), Err(BindError::InTheWay(_))));
    assert!(link.is_symlink());
    fs::create_dir(home.path().join("directory")).unwrap();
    assert!(matches!(listen_at(&home.path().join("directory"), Directory::Chosen), Err(BindError::InTheWay(_))));
}

#[test]
fn a_path_that_does_not_fit_is_told_with_its_length_and_the_limit() {
    let home = tempfile::tempdir().unwrap();
    let used = home.path().as_os_str().len() + 1;
    let fits = home.path().join("x".repeat(PATH_BYTES - used));
    assert!(listen_at(&fits, Directory::Chosen).is_ok());
    let long = home.path().join("x".repeat(PATH_BYTES - used + 1));
    let told = listen_at(&long, Directory::Chosen).unwrap_err().to_string();
    assert!(told.contains(&long.display().to_string()), "{told}");
    assert!(told.contains(&format!("{} bytes", PATH_BYTES + 1)), "{told}");
    assert!(told.contains(&format!("at most {PATH_BYTES} fit")), "{told}");
}

#[test]
fn of_many_that_start_in_one_moment_on_a_stale_socket_exactly_one_wins() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("owl.sock");
        stale(&path);
        let barrier = Barrier::new(8);
        let bound: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        listen_at(&path, Directory::Chosen)
                    })
                })
                .collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        let won: Vec<_> = bound.iter().filter_map(|bound| bound.as_ref().ok()).collect();
        assert_eq!(won.len(), 1);
        assert!(bound.iter().filter_map(|bound| bound.as_ref().err()).all(|e| matches!(e, BindError::Live(_))));
        let found = fs::symlink_metadata(&path).unwrap();
        assert_eq!((found.dev(), found.ino()), (won[0].file.device, won[0].file.inode));
    }
}

#[test]
fn the_file_is_removed_only_while_it_is_this_ones() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owl.sock");
    let bound = listen_at(&path, Directory::Chosen).unwrap();
    bound.file.remove();
    assert!(!path.exists());
    stale(&path);
    bound.file.remove();
    assert!(path.exists());
}

#[test]
fn only_the_same_user_and_root_are_served() {
    let own = Uid::effective().as_raw();
    assert!(is_served(own));
    assert!(is_served(0));
    assert!(!is_served(own + 1));
}
