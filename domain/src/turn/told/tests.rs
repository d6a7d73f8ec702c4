use super::*;
use crate::{
    gate::{Confinement, DenialKind},
    testing::{decided, path, peer, shown},
    text::Reason,
};
use alloc::vec::Vec;

fn error(text: &str) -> Told {
    Told { text: text.into(), is_error: true }
}

fn refused(reason: Option<&str>) -> Told {
    let mut proposal = decided(1, Outcome::Denied);
    let decision = proposal.decision.as_mut().unwrap();
    decision.reason = reason.map(|reason| Reason::new(reason).unwrap());
    not_allowed(&proposal, proposal.decision.as_ref().unwrap())
}

fn otherwise(outcome: Outcome) -> Told {
    let proposal = decided(1, outcome);
    not_allowed(&proposal, proposal.decision.as_ref().unwrap())
}

fn expired_after(window: Duration) -> String {
    let mut proposal = decided(1, Outcome::Expired);
    proposal.expires_at = proposal.created_at.plus(window);
    not_allowed(&proposal, proposal.decision.as_ref().unwrap()).text
}

fn denial() -> Denial {
    Denial::about(DenialKind::PathAbsolute, "/etc/hosts", "`/etc/hosts` is an absolute path")
}

fn printed(head: &str) -> Clipped {
    Clipped { head: head.into(), bytes: head.len() as u64, ..Clipped::default() }
}

fn result() -> CommandResult {
    CommandResult {
        ended_by: CommandEnd::Exit,
        exit_code: Some(0),
        signal: None,
        duration: Duration::from_millis(9),
        stdout: Clipped::default(),
        stderr: Clipped::default(),
        confinement: Confinement::Both,
    }
}

fn ended(ended_by: CommandEnd, exit_code: Option<i32>, signal: Option<&str>) -> String {
    let result = CommandResult { ended_by, exit_code, signal: signal.map(String::from), ..result() };
    ran(&shown("cat README.md"), &result).text
}

fn told_with(stdout: Clipped, stderr: Clipped) -> String {
    let told = ran(&shown("cat README.md"), &CommandResult { stdout, stderr, ..result() });
    assert!(!told.is_error);
    told.text.strip_prefix("$ cat README.md\nin /home/u/shop\nexit 0\n").unwrap().into()
}

#[test]
fn a_refusal_is_told_as_one_with_its_reason() {
    assert_eq!(refused(None), error("Not run: the user refused this command."));
    assert_eq!(refused(Some("")), error("Not run: the user refused this command."));
    assert_eq!(
        refused(Some("not on a Friday")),
        error("Not run: the user refused this command. Their reason: not on a Friday")
    );
}

#[test]
fn what_was_refused_beforehand_says_so() {
    let mut proposal = decided(1, Outcome::Denied);
    proposal.decision.as_mut().unwrap().by = By::Turn(peer("script"));
    assert_eq!(
        not_allowed(&proposal, proposal.decision.as_ref().unwrap()),
        error("Not run: the user refused this command. Their reason: this turn was sent with on_consent deny")
    );
}

#[test]
fn silence_is_told_as_silence_with_the_window_that_there_was() {
    let text = |window: &str| format!("Not run: nobody answered within {window}. Nobody refused it either.");
    assert_eq!(otherwise(Outcome::Expired), error(&text("3600 s")));
    assert_eq!(expired_after(Duration::from_secs(1)), text("1 s"));
    assert_eq!(expired_after(Duration::from_millis(300)), text("300 ms"));
    assert_eq!(expired_after(Duration::from_millis(90_500)), text("90500 ms"));
}

#[test]
fn a_cancelled_turn_is_told_as_one() {
    assert_eq!(otherwise(Outcome::Cancelled), error("Not run: the turn was cancelled before anybody answered."));
}

#[test]
fn a_denial_of_the_gate_says_what_and_what_to_write_instead() {
    assert_eq!(denied_by_gate(&denial()), error("Not run: Owl denies this command: `/etc/hosts` is an absolute path."));
    assert_eq!(
        denied_by_gate(&denial().instead("write the path relative to /home/u/shop")),
        error(
            "Not run: Owl denies this command: `/etc/hosts` is an absolute path. Instead: write the path relative to \
             /home/u/shop."
        )
    );
}

#[test]
fn a_denial_of_the_second_pass_says_that_it_was_allowed() {
    assert_eq!(
        denied_by_second_pass(&denial().instead("propose it again")),
        error(
            "Not run: it was allowed, but Owl denies it now: `/etc/hosts` is an absolute path. Instead: propose it \
             again."
        )
    );
    assert_eq!(
        denied_by_second_pass(&denial()),
        error("Not run: it was allowed, but Owl denies it now: `/etc/hosts` is an absolute path.")
    );
}

#[test]
fn what_could_not_be_started_says_why() {
    assert_eq!(
        could_not_start("too many processes"),
        error("Not run: it was allowed, but could not be started: too many processes.")
    );
    assert_eq!(
        otherwise(Outcome::Allowed),
        error("Not run: it was allowed, but could not be started: its turn had ended.")
    );
}

#[test]
fn how_a_command_ended_is_told() {
    let text = |ending: &str| format!("$ cat README.md\nin /home/u/shop\n{ending}\n(it printed nothing)");
    for (told, ending) in [
        (ended(CommandEnd::Exit, Some(0), None), "exit 0"),
        (ended(CommandEnd::Exit, Some(128), None), "exit 128"),
        (ended(CommandEnd::Signal, None, Some("SIGSEGV")), "killed by SIGSEGV"),
        (ended(CommandEnd::Timeout, None, Some("SIGTERM")), "stopped after 30 s: time limit"),
        (ended(CommandEnd::Timeout, Some(0), None), "stopped after 30 s: time limit"),
        (ended(CommandEnd::Cancel, None, Some("SIGTERM")), "stopped: the turn was cancelled"),
        (ended(CommandEnd::Shutdown, Some(1), None), "stopped: the daemon was stopping"),
    ] {
        assert_eq!(told, text(ending));
    }
}

#[test]
fn what_ran_is_told_in_quotes_and_where() {
    let mut shown = shown("cat a b");
    shown.argv = Vec::from(["cat".into(), "a b".into(), "x\u{202e}y".into(), String::new()]);
    shown.workdir = path("/home/u/other");
    let told = ran(&shown, &result());
    assert_eq!(told.text, "$ cat \"a b\" \"x\\u{202e}y\" \"\"\nin /home/u/other\nexit 0\n(it printed nothing)");
}

#[test]
fn what_was_printed_is_told_with_its_size() {
    assert_eq!(told_with(printed("hello\n"), Clipped::default()), "--- stdout (6 bytes)\nhello\n");
    assert_eq!(told_with(printed("no end"), Clipped::default()), "--- stdout (6 bytes)\nno end\n");
    assert_eq!(told_with(Clipped::default(), printed("bad\n")), "--- stderr (4 bytes)\nbad\n");
    assert_eq!(told_with(printed("one\n"), printed("two\n")), "--- stdout (4 bytes)\none\n--- stderr (4 bytes)\ntwo\n");
}

#[test]
fn what_was_left_out_or_was_no_text_is_counted() {
    let clipped = Clipped {
        head: "first".into(),
        tail: "last\n".into(),
        bytes: 3_000_000,
        omitted_bytes: 2_999_990,
        replaced_bytes: 7,
    };
    assert_eq!(
        told_with(clipped, Clipped::default()),
        "--- stdout (3000000 bytes, 2999990 bytes left out, 7 bytes were not text)\nfirst\n\
         --- (2999990 bytes left out)\nlast\n"
    );
    let replaced = Clipped { replaced_bytes: 2, ..printed("\u{fffd}\u{fffd}\n") };
    assert_eq!(
        told_with(replaced, Clipped::default()),
        "--- stdout (7 bytes, 2 bytes were not text)\n\u{fffd}\u{fffd}\n"
    );
}

#[test]
fn an_exit_that_is_not_zero_is_an_answer_and_no_error() {
    let told = ran(&shown("grep x README.md"), &CommandResult { exit_code: Some(1), ..result() });
    assert!(!told.is_error);
}

/// One of each, as a model could see it.
fn one_of_each() -> Vec<(&'static str, Told)> {
    Vec::from([
        ("ran", ran(&shown("cat README.md"), &result())),
        ("refused", refused(None)),
        ("refused with a reason", refused(Some("no"))),
        ("nobody answered", otherwise(Outcome::Expired)),
        ("cancelled", otherwise(Outcome::Cancelled)),
        ("denied by the gate", denied_by_gate(&denial())),
        ("denied by the second pass", denied_by_second_pass(&denial())),
        ("not started", could_not_start("its turn had ended")),
        ("started, not known to have finished", missing(&CommandOutcome::Interrupted)),
    ])
}

#[test]
fn no_two_are_alike_and_none_begins_as_another_is() {
    let all = one_of_each();
    for (one, a) in &all {
        for (other, b) in &all {
            let grows = *one == "refused" && *other == "refused with a reason";
            assert!(one == other || grows || !b.text.starts_with(&a.text), "{other} begins as {one}");
        }
    }
}

#[test]
fn each_says_what_it_is_and_none_says_what_another_is() {
    let marks = [
        ("exit 0", "ran"),
        ("the user refused", "refused"),
        ("nobody answered", "nobody answered"),
        ("turn was cancelled", "cancelled"),
        ("Owl denies this command", "denied by the gate"),
        ("Owl denies it now", "denied by the second pass"),
        ("could not be started", "not started"),
        ("not known to have finished", "started, not known to have finished"),
    ];
    for (name, told) in one_of_each() {
        for (mark, of) in marks {
            let is_it = name == of || (of == "refused" && name == "refused with a reason");
            assert_eq!(told.text.contains(mark), is_it, "{name}: {}", told.text);
        }
        assert_eq!(told.is_error, name != "ran", "{name}");
        let not_run = !matches!(name, "ran" | "started, not known to have finished");
        assert_eq!(told.text.starts_with("Not run: "), not_run, "{name}");
    }
}

#[test]
fn a_result_that_was_never_written_is_made_of_what_became_of_the_command() {
    for (outcome, text) in [
        (CommandOutcome::Interrupted, "Started, but not known to have finished: the daemon stopped while it ran."),
        (CommandOutcome::Denied, "Not run: the user refused this command."),
        (CommandOutcome::Cancelled, "Not run: the turn was cancelled before anybody answered."),
        (
            CommandOutcome::Failed { reason: "its turn had ended".into() },
            "Not run: it was allowed, but could not be started: its turn had ended.",
        ),
        (CommandOutcome::Expired, "Not run: nobody answered within the time there was. Nobody refused it either."),
        (CommandOutcome::GateDenied(denial()), "Not run: Owl denies this command: `/etc/hosts` is an absolute path."),
    ] {
        assert_eq!(missing(&outcome), error(text), "{outcome:?}");
    }
}
