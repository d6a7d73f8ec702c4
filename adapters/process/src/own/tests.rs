use super::*;
use crate::testing::{Flag, is_alive, script, until};

fn spawner() -> Spawner {
    Spawner::new()
}

#[tokio::test]
async fn a_program_gets_exactly_its_words_its_variables_and_its_directory() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let command = OwnCommand {
        program: "/bin/sh".into(),
        argv: ["a name", "-c", "tr '\\0' '\\n' < /proc/$$/environ; pwd; echo \"$0|$1|$#\"", "x", "a b", ""]
            .map(Into::into)
            .to_vec(),
        env: vec![("ONE".into(), "1 = 1".into()), ("PATH".into(), "/usr/bin:/bin".into())],
        ..script("", &home)
    };
    let output = spawner().run_own(command, Flag::new()).await.unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text, format!("ONE=1 = 1\nPATH=/usr/bin:/bin\n{}\nx|a b|2\n", home.display()));
    assert!(output.succeeded());
    assert!(!output.is_cut());
}

#[tokio::test]
async fn a_program_has_null_for_input_leads_its_group_and_holds_no_other_descriptor() {
    let home = tempfile::tempdir().unwrap();
    let text = "readlink /proc/$$/fd/0; cut -d' ' -f5 /proc/$$/stat; echo $$; ls -x /proc/$$/fd";
    let output = spawner().run_own(script(text, home.path()), Flag::new()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (null, group, pid) = (lines[0], lines[1], lines[2]);
    assert_eq!(null, "/dev/null");
    assert_eq!(group, pid);
    assert_eq!(lines[3], "0  1  2");
}

#[tokio::test]
async fn a_non_zero_exit_and_a_signal_are_answers() {
    let home = tempfile::tempdir().unwrap();
    let spawner = spawner();
    let output = spawner.run_own(script("echo no >&2; exit 3", home.path()), Flag::new()).await.unwrap();
    assert_eq!((output.ended_by, output.exit_code, output.signal), (EndedBy::Exit, Some(3), None));
    assert_eq!(output.stderr, b"no\n");
    let output = spawner.run_own(script("kill -USR1 $$", home.path()), Flag::new()).await.unwrap();
    assert_eq!((output.ended_by, output.exit_code), (EndedBy::Signal, None));
    assert_eq!(output.signal.as_deref(), Some("SIGUSR1"));
    let output = spawner.run_own(script("kill -40 $$", home.path()), Flag::new()).await.unwrap();
    assert_eq!(output.signal.as_deref(), Some("signal 40"));
}

#[tokio::test]
async fn more_output_than_is_kept_is_read_to_its_end_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let command = OwnCommand { max_bytes: 10, ..script("yes | head -c 9000000", home.path()) };
    let output = spawner().run_own(command, Flag::new()).await.unwrap();
    assert_eq!((output.stdout.as_slice(), output.stdout_bytes), (b"y\ny\ny\ny\ny\n".as_slice(), 9_000_000));
    assert!(output.is_cut());
    assert!(output.succeeded());
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let home = tempfile::tempdir().unwrap();
    let spawner = spawner();
    let told = async |command| spawner.run_own(command, Flag::new()).await.unwrap_err().to_string();
    let missing = OwnCommand { program: "/no/such".into(), ..script("", home.path()) };
    assert_eq!(
        told(missing).await,
        "`/no/such` could not be started: the program cannot be executed: No such file or directory (os error 2)"
    );
    let relative = OwnCommand { program: "sh".into(), ..script("", home.path()) };
    assert_eq!(told(relative).await, "`sh` could not be started: its path is not absolute");
    let nowhere = script("", &home.path().join("gone"));
    assert!(told(nowhere).await.contains("gone` cannot be entered: No such file"));
    let nul = OwnCommand { argv: vec!["a\0b".into()], ..script("", home.path()) };
    assert!(told(nul).await.contains("nul byte"));
}

#[tokio::test]
async fn a_text_file_without_an_interpreter_is_never_given_to_a_shell() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("text");
    std::fs::write(&file, "touch ran\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = OwnCommand { program: file, ..script("", home.path()) };
    let error = spawner().run_own(command, Flag::new()).await.unwrap_err();
    assert!(error.to_string().contains("Exec format error"), "{error}");
    assert!(!home.path().join("ran").exists());
}

#[tokio::test]
async fn at_its_deadline_the_whole_group_is_gone_though_it_ignores_term() {
    let home = tempfile::tempdir().unwrap();
    let text =
        "trap '' TERM; (trap '' TERM; echo child; while :; do sleep 60; done) & echo $! > child; echo before; wait";
    let command = OwnCommand { deadline: Duration::from_millis(300), ..script(text, home.path()) };
    let output = spawner().run_own(command, Flag::new()).await.unwrap();
    assert_eq!((output.ended_by, output.exit_code), (EndedBy::Timeout, None));
    assert_eq!(output.signal.as_deref(), Some("SIGKILL"));
    assert!(String::from_utf8(output.stdout).unwrap().contains("before"));
    let child: i32 = std::fs::read_to_string(home.path().join("child")).unwrap().trim().parse().unwrap();
    until("its child is gone", || !is_alive(child)).await;
}

#[tokio::test]
async fn a_stop_ends_it_with_term_first() {
    let home = tempfile::tempdir().unwrap();
    let stop = Flag::new();
    let text = "trap 'echo asked; exit 7' TERM; echo > ready; while :; do sleep 0.01; done";
    let spawner = spawner();
    let running = tokio::spawn({
        let (stop, command) = (stop.clone(), script(text, home.path()));
        async move { spawner.run_own(command, stop).await.unwrap() }
    });
    until("it runs", || home.path().join("ready").exists()).await;
    stop.tell();
    let output = running.await.unwrap();
    assert_eq!((output.ended_by, output.exit_code), (EndedBy::Stopped, Some(7)));
    assert_eq!(output.stdout, b"asked\n");
}

#[tokio::test]
async fn a_process_that_left_the_group_and_holds_the_output_does_not_hold_up_the_end() {
    let home = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'echo $$ > other; exec sleep 600' & while ! test -s other; do sleep 0.01; done; echo done";
    let output = spawner().run_own(script(text, home.path()), Flag::new()).await.unwrap();
    assert_eq!(output.stdout, b"done\n");
    let other: i32 = std::fs::read_to_string(home.path().join("other")).unwrap().trim().parse().unwrap();
    assert!(is_alive(other));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(other), nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn a_dropped_run_ends_its_group() {
    let home = tempfile::tempdir().unwrap();
    let spawner = spawner();
    let running = tokio::spawn({
        let command = script("echo $$ > pid; exec sleep 600", home.path());
        async move { spawner.run_own(command, Flag::new()).await }
    });
    let pid = || std::fs::read_to_string(home.path().join("pid")).ok()?.trim().parse::<i32>().ok();
    until("it runs", || pid().is_some()).await;
    running.abort();
    until("it is gone", || !is_alive(pid().unwrap())).await;
}
