use super::*;
use crate::testing::{Bench, Flag, Try, finish, is_alive, nothing, script, until};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
};
use std::fs;
use tokio::signal::unix::{SignalKind, signal};

#[test]
fn what_a_child_tells_survives_the_pipe_and_is_said_in_words() {
    for stage in Stage::ALL {
        let failed = Told::Failed(stage.failed(Errno::EPERM));
        assert_eq!(Told::decode(failed.encode()), Some(failed));
    }
    for told in [Told::Placed(Pid::from_raw(4_194_304)), Told::Begins] {
        assert_eq!(Told::decode(told.encode()), Some(told));
    }
    assert_eq!(Told::decode([99, 0, 0, 0, 0]), None);
    assert_eq!(
        Stage::Landlock.failed(Errno::E2BIG).to_string(),
        "Landlock could not be applied: Argument list too long (os error 7)"
    );
}

/// What the kernel says of a process's signals under this name, such as `SigCgt`; without the two that are libc's own.
#[cfg(target_os = "linux")]
fn signals(pid: Pid, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & !(0b11 << 31)
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_child_takes_every_signal_by_its_default_and_none_before_it_is_let_go() {
    let mut daemon = signal(SignalKind::user_defined2()).unwrap();
    let (bench, home) = (Bench::new().await, tempfile::tempdir().unwrap());
    let own = nix::unistd::getpid();
    let pipe = 1 << (Signal::SIGPIPE as i32 - 1);
    assert!(signals(own, "SigIgn") & pipe != 0, "there is something that a child must not inherit");
    let held = bench.hold(home.path(), Try::new(owl_domain::gate::Program::Cat, &[], nothing())).await.unwrap();
    let pid = Pid::from_raw(held.pid().cast_signed());
    let usr2 = 1 << (Signal::SIGUSR2 as i32 - 1);
    assert!(signals(pid, "SigCgt") & signals(pid, "SigBlk") & usr2 != 0, "its parent's handler is there, and kept out");
    // It dies of what its parent handles, and its parent hears nothing of it.
    kill(pid, Signal::SIGUSR2).unwrap();
    assert!(is_alive(pid.as_raw()));
    let ran = finish(held.release().await.unwrap()).await;
    assert_eq!((ran.signal.as_deref(), ran.exit_code), (Some("SIGUSR2"), None));
    let heard = tokio::select! { biased; heard = daemon.recv() => heard, () = std::future::ready(()) => None };
    assert_eq!(heard, None);
    let ran = bench.spawner.run_own(script("exec cat /proc/self/status", home.path()), Flag::new()).await.unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    for none in ["SigBlk:\t0000000000000000\n", "SigCgt:\t0000000000000000\n"] {
        assert!(text.contains(none), "{text}");
    }
    let ignored = text.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & pipe, 0);
}

#[tokio::test]
async fn a_panic_where_a_child_is_made_is_an_error_there_and_ends_no_other_child_of_that_thread() {
    let (spawner, home) = (Spawner::new(), tempfile::tempdir().unwrap());
    let running = tokio::spawn({
        let (spawner, command) = (spawner.clone(), script("echo $$ > new; mv new pid; exec sleep 600", home.path()));
        async move { spawner.run_own(command, Flag::new()).await }
    });
    let pid = || fs::read_to_string(home.path().join("pid")).ok()?.trim().parse::<i32>().ok();
    until("it runs", || pid().is_some()).await;
    let error = spawner.fork("/bin/sh".as_ref(), Start::Held, || panic!("made to fail")).await.unwrap_err();
    assert_eq!(error.to_string(), "`/bin/sh` could not be started: the thread that was to start it gave up");
    // The thread that had made the first is the one that panicked, and serves on.
    let ran = spawner.run_own(script("echo on", home.path()), Flag::new()).await.unwrap();
    assert_eq!(ran.stdout, b"on\n");
    assert!(is_alive(pid().unwrap()));
    running.abort();
}

#[tokio::test]
async fn a_child_that_nobody_waits_for_any_more_is_gone_without_having_begun() {
    let (bench, home) = (Bench::new().await.open(), tempfile::tempdir().unwrap());
    for _ in 0..50 {
        let held = bench.hold(home.path(), Try::probe("write|began", nothing()));
        // Let go of at every point of its way: before it is asked for, while it is made, when it is there.
        tokio::select! {
            biased;
            held = held => drop(held),
            () = tokio::task::yield_now() => {}
        }
    }
    // Whatever is still at work for one of them, and each that is not reaped, shares the threads.
    until("none of them is left", || Arc::strong_count(&bench.spawner.threads) == 1).await;
    assert!(!home.path().join("began").exists());
}
