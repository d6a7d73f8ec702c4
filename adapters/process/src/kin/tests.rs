use super::*;

#[test]
fn this_process_is_found_alive_and_without_a_mark() {
    let own = getpid().as_raw();
    let status = status(own).unwrap();
    assert_eq!((status.process.pid, status.dead), (own, false));
    assert_eq!(status.parent, nix::unistd::getppid().as_raw());
    assert!(processes().contains(&status));
    assert_eq!(marks(own), None);
}

#[test]
fn the_daemon_itself_is_never_among_what_is_ended() {
    let mut kin = Kin::new(Mark { run: "r_1".into(), home: "/nowhere".into() });
    kin.look(getpid());
    let own = getpid().as_raw();
    assert!(kin.find(&processes()).iter().all(|one| one.pid != own));
}
