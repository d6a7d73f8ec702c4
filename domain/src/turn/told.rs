//! What the model is told of a call, in sentences that cannot be taken for one another (D8).

use super::Told;
use crate::{
    consent::{By, Decision, Outcome, Proposal},
    conversation::{CommandEnd, CommandOutcome, CommandResult},
    gate::{Denial, Shown},
    limits,
    show::quote_argv,
    text::Clipped,
};
use alloc::{format, string::String};
use core::time::Duration;

/// The command was started; how it ended and what it printed.
#[must_use]
pub fn ran(shown: &Shown, result: &CommandResult) -> Told {
    let ending = match (result.ended_by, result.exit_code, &result.signal) {
        (CommandEnd::Timeout, ..) => format!("stopped after {}: time limit", span(limits::COMMAND_DEADLINE)),
        (CommandEnd::Cancel, ..) => String::from("stopped: the turn was cancelled"),
        (CommandEnd::Shutdown, ..) => String::from("stopped: the daemon was stopping"),
        (CommandEnd::Exit | CommandEnd::Signal, Some(code), _) => format!("exit {code}"),
        (CommandEnd::Exit | CommandEnd::Signal, None, Some(signal)) => format!("killed by {signal}"),
        (CommandEnd::Exit | CommandEnd::Signal, None, None) => String::from("ended, and it is not known how"),
    };
    let mut text = format!("$ {}\nin {}\n{ending}\n", quote_argv(&shown.argv), shown.workdir);
    if result.stdout.bytes == 0 && result.stderr.bytes == 0 {
        text.push_str("(it printed nothing)");
    }
    output(&mut text, "stdout", &result.stdout);
    output(&mut text, "stderr", &result.stderr);
    Told { text, is_error: false }
}

fn output(text: &mut String, name: &str, output: &Clipped) {
    if output.bytes == 0 {
        return;
    }
    let note = |bytes: u64, what: &str| if bytes > 0 { format!(", {bytes} bytes {what}") } else { String::new() };
    let left_out = note(output.omitted_bytes, "left out");
    let not_text = note(output.replaced_bytes, "were not text");
    let bytes = output.bytes;
    text.extend([format!("--- {name} ({bytes} bytes{left_out}{not_text})\n").as_str(), &output.head]);
    if output.omitted_bytes > 0 {
        line_end(text);
        text.extend([format!("--- ({} bytes left out)\n", output.omitted_bytes).as_str(), &output.tail]);
    }
    line_end(text);
}

fn line_end(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The gate said no before anybody was asked.
#[must_use]
pub fn denied_by_gate(denial: &Denial) -> Told {
    refused(format!("Not run: Owl denies this command: {}.", denial.message), denial)
}

/// The command was allowed, and the gate said no when it was to run.
#[must_use]
pub fn denied_by_second_pass(denial: &Denial) -> Told {
    refused(format!("Not run: it was allowed, but Owl denies it now: {}.", denial.message), denial)
}

fn refused(mut text: String, denial: &Denial) -> Told {
    if let Some(hint) = &denial.hint {
        text.extend([" Instead: ", hint, "."]);
    }
    Told { text, is_error: true }
}

/// A Proposal was decided, and not allowed.
#[must_use]
pub fn not_allowed(proposal: &Proposal, decision: &Decision) -> Told {
    let text = match decision.outcome {
        Outcome::Denied => {
            let mut text = String::from("Not run: the user refused this command.");
            let beforehand = "this turn was sent with on_consent deny";
            let reason = match &decision.by {
                By::Turn(_) => Some(beforehand),
                By::Client(_) | By::Grant | By::Owl => decision.reason.as_ref().map(|reason| reason.as_str()),
            };
            if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
                text.push_str(" Their reason: ");
                text.push_str(reason);
            }
            text
        }
        Outcome::Expired => {
            let window = span(proposal.expires_at.since(proposal.created_at));
            format!("Not run: nobody answered within {window}. Nobody refused it either.")
        }
        Outcome::Cancelled => cancelled(),
        Outcome::Allowed => not_started("its turn had ended"),
    };
    Told { text, is_error: true }
}

/// The command was allowed and could not be started.
#[must_use]
pub fn could_not_start(reason: &str) -> Told {
    Told { text: not_started(reason), is_error: true }
}

/// Tells a result that was never written, from what became of the call's Item: made when the history is read.
#[must_use]
pub fn missing(outcome: &CommandOutcome) -> Told {
    let text = match outcome {
        CommandOutcome::Interrupted | CommandOutcome::Ran(_) => {
            String::from("Started, but not known to have finished: the daemon stopped while it ran.")
        }
        CommandOutcome::GateDenied(denial) => return denied_by_gate(denial),
        CommandOutcome::Failed { reason } => not_started(reason),
        CommandOutcome::Denied => String::from("Not run: the user refused this command."),
        CommandOutcome::Expired => {
            String::from("Not run: nobody answered within the time there was. Nobody refused it either.")
        }
        CommandOutcome::Cancelled => cancelled(),
    };
    Told { text, is_error: true }
}

fn cancelled() -> String {
    String::from("Not run: the turn was cancelled before anybody answered.")
}

fn not_started(reason: &str) -> String {
    format!("Not run: it was allowed, but could not be started: {reason}.")
}

/// Writes a span as people do: whole seconds, else milliseconds.
fn span(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        _ => format!("{} ms", time.as_millis()),
    }
}

#[cfg(test)]
mod tests;
