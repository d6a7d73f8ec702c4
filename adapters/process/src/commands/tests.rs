use super::*;
use crate::testing::{Bench, Flag, Try, files, finish, is_alive, nothing, script, until};
use owl_domain::text::Clipped;
use std::fs;

fn printing(text: &str) -> Try {
    let argv = ["sh", "-c", text].map(Into::into).to_vec();
    Try { program: "/bin/sh".into(), argv, ..Try::new(Program::Cat, &[], nothing()) }
}

/// All that was told of one stream while it ran.
async fn told(mut running: Box<dyn Running>, of: Stream) -> (String, Ran) {
    let mut text = String::new();
    loop {
        match running.next().await {
            Progress::Printed(stream, more) if stream == of => text.push_str(&more),
            Progress::Printed(..) => {}
            Progress::Ended(ran) => return (text, ran),
        }
    }
}

fn host(spawner: Spawner, sandbox: Sandbox, measured: Measured) -> HostCommands {
    HostCommands::with(spawner, Programs::find(&[]), Guards::none(), measured, sandbox)
}

#[tokio::test]
async fn a_held_command_has_a_pid_and_begins_only_when_it_is_released() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), printing("echo $$; readlink /proc/$$/exe")).await.unwrap();
    let pid = held.pid();
    // Before execve it is still the program of its parent.
    let own = fs::read_link("/proc/self/exe").unwrap();
    assert_eq!(fs::read_link(format!("/proc/{pid}/exe")).unwrap(), own);
    let ran = finish(held.release().await.unwrap()).await;
    assert_eq!(ran.stdout.head.lines().next(), Some(pid.to_string().as_str()));
    assert_eq!((ran.ended_by, ran.exit_code, ran.signal), (EndedBy::Exit, Some(0), None));
}

#[tokio::test]
async fn a_held_command_that_is_dropped_never_begins() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), Try::probe("write|began", nothing())).await.unwrap();
    let pid = held.pid().cast_signed();
    assert!(is_alive(pid));
    drop(held);
    until("it is gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    assert!(!home.path().join("began").exists());
}

#[tokio::test]
async fn a_held_command_that_somebody_killed_is_not_taken_for_one_that_ran() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), Try::probe("write|began", nothing())).await.unwrap();
    let pid = held.pid().cast_signed();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    until("it is dead", || !is_alive(pid)).await;
    assert!(held.release().await.err().unwrap().to_string().ends_with("it ended before it began"));
}

#[tokio::test]
async fn a_held_command_that_does_not_answer_is_ended_by_a_stop_its_deadline_and_by_being_dropped() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    for (by, deadline) in [
        ("a stop", limits::COMMAND_DEADLINE),
        ("its deadline", Duration::from_millis(100)),
        ("being dropped", limits::COMMAND_DEADLINE),
    ] {
        let stop = Flag::new();
        let what = Try::probe("write|began", nothing());
        let held = bench.hold_until(home.path(), what, deadline, stop.clone()).await.unwrap();
        let pid = held.pid().cast_signed();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGSTOP).unwrap();
        match by {
            "a stop" => {
                let told = async { tokio::task::spawn_blocking(move || stop.tell()).await.unwrap() };
                let (released, ()) = tokio::join!(held.release(), told);
                assert!(matches!(released.err(), Some(CommandError::Stopped)));
            }
            "its deadline" => {
                assert!(held.release().await.err().unwrap().to_string().ends_with("it ended before it began"));
            }
            _ => drop(held),
        }
        until("it is gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
        assert!(!home.path().join("began").exists());
    }
}

#[tokio::test]
async fn many_are_held_at_once_and_let_go_in_any_order() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("a"), "alpha\n").unwrap();
    let cat = || Try::new(Program::Cat, &["--", "a"], files(&[&home.path().join("a")]));
    let mut held = Vec::new();
    for _ in 0..limits::COMMANDS_RUNNING {
        held.push(bench.hold(home.path(), cat()).await.unwrap());
    }
    // Each is released and read to its end while its younger, then its older sisters are still held.
    let (older, younger) = (held.split_off(4), held);
    drop(older.into_iter().next());
    for one in younger.into_iter().rev() {
        assert_eq!(finish(one.release().await.unwrap()).await.stdout.head, "alpha\n");
    }
}

#[tokio::test]
async fn a_held_command_holds_no_descriptor_but_its_own() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    let first = bench.hold(home.path(), Try::new(Program::Cat, &[], nothing())).await.unwrap();
    let second = bench.hold(home.path(), Try::new(Program::Cat, &[], nothing())).await.unwrap();
    for held in [&first, &second] {
        let open = fs::read_dir(format!("/proc/{}/fd", held.pid())).unwrap().count();
        assert_eq!(open, 5, "0 to 2, what it waits for and what it tells by");
    }
}

#[tokio::test]
async fn a_command_that_is_told_to_stop_while_it_is_held_never_begins() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let stop = Flag::new();
    let what = Try::probe("write|began", nothing());
    let held = bench.hold_until(home.path(), what, limits::COMMAND_DEADLINE, stop.clone()).await.unwrap();
    stop.tell();
    assert_eq!(held.release().await.err(), Some(CommandError::Stopped));
    assert!(!home.path().join("began").exists());
}

#[tokio::test]
async fn a_stop_ends_a_running_command_and_says_so() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let stop = Flag::new();
    let what = printing("echo begun; exec sleep 600");
    let held = bench.hold_until(home.path(), what, limits::COMMAND_DEADLINE, stop.clone()).await.unwrap();
    let mut running = held.release().await.unwrap();
    assert_eq!(running.next().await, Progress::Printed(Stream::Stdout, "begun\n".into()));
    stop.tell();
    let ran = finish(running).await;
    assert_eq!((ran.ended_by, ran.exit_code, ran.signal.as_deref()), (EndedBy::Stopped, None, Some("SIGTERM")));
    assert_eq!(ran.stdout.head, "begun\n");
}

#[tokio::test]
async fn at_its_deadline_a_group_that_ignores_term_is_killed_and_what_it_printed_is_told() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; (trap '' TERM; exec sleep 600) & echo $!; wait; wait; sleep 600";
    let deadline = Duration::from_millis(300);
    let held = bench.hold_until(home.path(), printing(text), deadline, Flag::new()).await.unwrap();
    let ran = finish(held.release().await.unwrap()).await;
    assert_eq!((ran.ended_by, ran.exit_code, ran.signal.as_deref()), (EndedBy::Timeout, None, Some("SIGKILL")));
    let child: i32 = ran.stdout.head.trim().parse().unwrap();
    until("its child is gone", || !is_alive(child)).await;
    assert!(ran.duration >= deadline);
}

#[tokio::test]
async fn a_running_command_that_is_dropped_is_killed() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), printing("exec sleep 600")).await.unwrap();
    let pid = held.pid().cast_signed();
    drop(held.release().await.unwrap());
    until("it is gone", || !is_alive(pid)).await;
}

#[tokio::test]
async fn both_streams_are_told_as_they_come_and_kept_apart() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), printing("echo out; echo no >&2; exit 3")).await.unwrap();
    let (text, ran) = told(held.release().await.unwrap(), Stream::Stderr).await;
    assert_eq!((text.as_str(), ran.stderr.head.as_str(), ran.stdout.head.as_str()), ("no\n", "no\n", "out\n"));
    assert_eq!((ran.ended_by, ran.exit_code), (EndedBy::Exit, Some(3)), "a non-zero exit is an answer");
}

#[tokio::test]
async fn of_many_megabytes_the_first_and_last_part_are_kept_with_the_true_size() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("big");
    let line = "0123456789abcdé\n";
    fs::write(&file, line.repeat(1 << 20)).unwrap();
    let held = bench.hold(home.path(), Try::new(Program::Cat, &["--", "big"], files(&[&file]))).await.unwrap();
    let (text, ran) = told(held.release().await.unwrap(), Stream::Stdout).await;
    let Clipped { head, tail, bytes, omitted_bytes, replaced_bytes } = ran.stdout;
    assert_eq!(bytes, (line.len() << 20) as u64);
    assert!(head.len() <= limits::STDOUT_HEAD_BYTES && head.len() + 2 > limits::STDOUT_HEAD_BYTES);
    assert!(tail.len() <= limits::STDOUT_TAIL_BYTES && tail.len() + 2 > limits::STDOUT_TAIL_BYTES);
    assert_eq!(omitted_bytes, bytes - (head.len() + tail.len()) as u64);
    assert_eq!((replaced_bytes, ran.exit_code), (0, Some(0)));
    assert!(line.repeat(5000).starts_with(&head) && line.repeat(5000).ends_with(&tail));
    assert_eq!(text, head, "while it ran the same was told");
}

#[tokio::test]
async fn output_that_is_no_text_is_decoded_and_its_bytes_are_counted() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("latin");
    fs::write(&file, b"caf\xe9 \xff\xfe\n").unwrap();
    let ran = bench.run(home.path(), Try::new(Program::Cat, &["--", "latin"], files(&[&file]))).await;
    assert_eq!(ran.stdout.head, "caf\u{fffd} \u{fffd}\u{fffd}\n");
    assert_eq!((ran.stdout.bytes, ran.stdout.replaced_bytes), (8, 3));
}

#[tokio::test]
async fn a_command_gets_exactly_its_variables_null_for_input_and_a_group_of_its_own() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    let held = bench.hold(home.path(), Try::probe("environment", nothing())).await.unwrap();
    let pid = held.pid();
    assert_eq!(fs::read_link(format!("/proc/{pid}/fd/0")).unwrap().to_str(), Some("/dev/null"));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let group = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(2)).unwrap();
    assert_eq!(group, pid.to_string());
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), home.path().canonicalize().unwrap());
    let ran = finish(held.release().await.unwrap()).await;
    assert!(std::env::vars().count() > 1, "there is something to keep from it");
    assert!(ran.stdout.head.contains("[environment] yes OWL_PROBE=environment\n"), "{ran:?}");
}

#[tokio::test]
async fn what_cannot_be_executed_is_not_started_and_says_why() {
    let bench = Bench::new().await;
    let home = tempfile::tempdir().unwrap();
    let missing = Try { program: "/usr/bin/no-such".into(), ..Try::new(Program::Cat, &[], nothing()) };
    let error = bench.hold(home.path(), missing).await.err().unwrap().to_string();
    assert!(error.starts_with("`/usr/bin/no-such` could not be started: "), "{error}");
    // A program that is replaced while it is held is another file, for which there is no rule.
    let Some(bench) = Bench::walled("what_cannot_be_executed").await else { return };
    let (program, other) = (home.path().join("cat"), home.path().join("other"));
    fs::copy("/usr/bin/cat", &program).unwrap();
    fs::copy("/usr/bin/head", &other).unwrap();
    let what = Try { program: program.clone(), ..Try::new(Program::Cat, &["--version"], nothing()) };
    let held = bench.hold(home.path(), what).await.unwrap();
    fs::rename(&other, &program).unwrap();
    let error = held.release().await.err().unwrap().to_string();
    assert!(error.contains("the program cannot be executed: Permission denied"), "{error}");
}

#[tokio::test]
async fn a_command_with_a_program_of_another_format_is_not_given_to_a_shell() {
    let bench = Bench::new().await.open();
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("cat");
    fs::copy("/usr/bin/cat", &program).unwrap();
    let what = Try { program: program.clone(), ..Try::new(Program::Cat, &[], nothing()) };
    let held = bench.hold(home.path(), what).await.unwrap();
    // By another process: a child that another test makes at this moment would hold it open for writing.
    let write = script("echo 'echo ran > ran' > cat", home.path());
    assert!(bench.spawner.run_own(write, Flag::new()).await.unwrap().succeeded());
    assert!(held.release().await.err().unwrap().to_string().contains("Exec format error"));
    assert!(!home.path().join("ran").exists());
}

#[tokio::test]
async fn no_more_run_at_once_than_the_limit_and_the_next_waits_until_one_ends_or_it_is_stopped() {
    let measured = Measured { landlock: false, seccomp: false, abi: None };
    let commands = host(Spawner::new(), Sandbox::Auto, measured);
    let stop = Flag::new();
    let mut places = Vec::new();
    for _ in 0..limits::COMMANDS_RUNNING {
        places.push(commands.place(&*stop).await.unwrap());
    }
    let mut waiting = std::pin::pin!(commands.place(&*stop));
    assert!(futures_poll(&mut waiting).await.is_none());
    drop(places.pop());
    places.push(waiting.await.unwrap());
    let mut waiting = std::pin::pin!(commands.place(&*stop));
    assert!(futures_poll(&mut waiting).await.is_none());
    stop.tell();
    assert_eq!(waiting.await.err(), Some(CommandError::Stopped));
}

mod cleared;

/// Polls once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn the_wall_is_told_as_it_was_measured_and_off_means_none() {
    let measured = Measured { landlock: true, seccomp: true, abi: Some(7) };
    let spawner = Spawner::new();
    let commands = host(spawner.clone(), Sandbox::Off, measured);
    assert_eq!((commands.wall().confinement, commands.wall().sandbox), (Confinement::Gate, Sandbox::Off));
    let lacking = Measured { landlock: false, seccomp: true, abi: None };
    let commands = host(spawner.clone(), Sandbox::Required, lacking);
    assert_eq!((commands.wall().confinement, commands.wall().missing), (Confinement::Seccomp, vec!["landlock"]));
    let commands = HostCommands::start(spawner, Sandbox::Auto, &[]).await;
    assert!(commands.program(Program::Cat).is_some());
    assert_eq!(
        commands.wall().confinement == Confinement::Both,
        commands.wall().missing.iter().all(|m| !["landlock", "seccomp"].contains(m))
    );
}

#[tokio::test]
async fn what_runs_or_is_held_ends_when_the_daemon_is_killed() {
    for with in ["daemon", "holder"] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("pid");
        let mut daemon = std::process::Command::new(crate::testing::probe::program())
            .args(crate::testing::probe::argv().into_iter().skip(1))
            .env("OWL_PROBE", format!("{with}|{}", file.display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = || fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok();
        until("its child is there", || pid().is_some()).await;
        assert!(is_alive(pid().unwrap()));
        daemon.kill().unwrap();
        // A test beside this one may have reaped it as an orphan.
        daemon.wait().ok();
        until("its child is gone", || !is_alive(pid().unwrap())).await;
    }
}

#[tokio::test]
async fn a_spawner_whose_owners_are_gone_ends_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let spawner = Spawner::new();
    let running = tokio::spawn({
        let command = script("echo $$ > pid; exec sleep 600", home.path());
        async move { spawner.run_own(command, Flag::new()).await }
    });
    let pid = || fs::read_to_string(home.path().join("pid")).ok()?.trim().parse::<i32>().ok();
    until("it runs", || pid().is_some()).await;
    running.abort();
    until("it is gone", || !std::path::Path::new(&format!("/proc/{}", pid().unwrap())).exists()).await;
}
