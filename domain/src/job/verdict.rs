//! What a Run led to: its Agent's end, its denials, the diff, the checks and the Verifier become review or blocked (D21,
//! D22). A Run in which everything was refused exits with 0 and calls itself a success; it is none here.

use super::{Exit, Verification, VerificationKind, VerificationState};
use crate::{
    limits,
    permissions::DeniedCall,
    show::visible,
    text::{Clipped, cut_chars},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::time::Duration;

/// What is shown of words in a reason; the whole is in the Run and its log.
const WORDS_CHARS: usize = 500;
/// Rules that a reason names.
const RULES_NAMED: usize = 5;

/// How an Agent's work ended, and whether anything came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEnded {
    /// Why its process ended.
    pub ended_by: AgentEndedBy,
    /// How.
    pub exit: Exit,
    /// What its last result line said; none when there was none.
    pub result: Option<AgentResult>,
    /// The end of its standard error.
    pub stderr_tail: String,
    /// How long the longest line was that was too long to be read.
    pub overlong_line: Option<u64>,
    /// Whether the worktree differs from how the Agent found it.
    pub work: Work,
}

/// Whether anything came of an Agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// The worktree differs.
    Changed,
    /// It does not.
    Unchanged,
    /// It could not be told, and why.
    Unknown(String),
}

/// Why an Agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEndedBy {
    /// By itself, or by a signal that Owl did not send.
    Itself,
    /// It took too long.
    Timeout(Duration),
    /// It said nothing for too long.
    Silence(Duration),
    /// The same call was refused again and again.
    SameDenial,
    /// Its credential was refused again and again.
    Credential,
    /// Its log could not be written.
    Log,
    /// It was told to stop.
    Stopped,
}

/// What an Agent's result line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentResult {
    /// Whether it calls itself an error.
    pub is_error: bool,
    /// What it calls itself; `success` also with everything refused.
    pub subtype: String,
    /// The Agent's last words.
    pub text: Option<String>,
}

/// Returns why an Agent's end leaves nothing to judge; none when there is work.
#[must_use]
pub fn of_agent(ended: &AgentEnded, denials: &[DeniedCall]) -> Option<String> {
    let by_us = match ended.ended_by {
        AgentEndedBy::Itself => None,
        AgentEndedBy::Timeout(after) => Some(format!("it was at work for {} (runs.timeout)", span(after))),
        AgentEndedBy::Silence(after) => Some(format!("it printed nothing for {} (runs.silence)", span(after))),
        AgentEndedBy::SameDenial => Some(same_denial(denials)),
        AgentEndedBy::Credential => Some("its credential is refused; give the Account another token".into()),
        AgentEndedBy::Log => Some("its log could not be written".into()),
        AgentEndedBy::Stopped => Some("it was told to stop".into()),
    };
    if let Some(why) = by_us {
        return Some(format!("Owl ended the Agent: {why}"));
    }
    if let Exit::Signal(signal) = &ended.exit {
        return Some(format!("The Agent was ended by {signal}, which Owl did not send"));
    }
    let Some(result) = &ended.result else { return Some(no_result(ended)) };
    let code = match ended.exit {
        Exit::Code(code) => code,
        Exit::Signal(_) => 0,
    };
    if result.is_error || code != 0 {
        let said = result.text.as_deref().map_or_else(|| visible(&result.subtype), words);
        return Some(format!("The Agent failed (exit {code}): {said}"));
    }
    match &ended.work {
        Work::Changed => None,
        Work::Unchanged => Some(nothing_changed(result, denials)),
        Work::Unknown(why) => Some(format!("It could not be told what the Agent changed: {}", words(why))),
    }
}

/// Returns why the checks do not let the work pass; none when all passed.
#[must_use]
pub fn of_checks(judged: &[Verification]) -> Option<String> {
    let checks: Vec<&Verification> = judged.iter().filter(|one| one.kind != VerificationKind::Agent).collect();
    let failed: Vec<&&Verification> = checks.iter().filter(|one| one.state != VerificationState::Passed).collect();
    let first = failed.first()?;
    let names: Vec<String> = failed.iter().map(|one| format!("{} ({})", visible(&one.name), how(one))).collect();
    let printed = first.output.as_ref().map(last_words).filter(|text| !text.is_empty());
    let printed = printed.map(|text| format!(": {text}")).unwrap_or_default();
    Some(format!("{} of {} checks did not pass: {}{printed}", failed.len(), checks.len(), names.join(", ")))
}

/// Returns why the Verifier does not let the work pass; none when it does.
#[must_use]
pub fn of_review(review: &Verification) -> Option<String> {
    let said = review.message.as_deref().map(words).unwrap_or_default();
    match review.state {
        VerificationState::Passed => None,
        VerificationState::Failed => Some(format!("The Verifier says no: {said}")),
        VerificationState::TimedOut | VerificationState::Error => Some(format!("The Verifier gave no verdict: {said}")),
    }
}

/// Returns why a setup command lets no Agent begin.
#[must_use]
pub fn of_setup(command: &str, how: &str, output: &Clipped) -> String {
    let printed = last_words(output);
    let printed = if printed.is_empty() { String::new() } else { format!(": {printed}") };
    format!("The Project's setup failed: `{}` {how}{printed}", one_line(command))
}

/// Writes a span as a person reads it.
#[must_use]
pub fn span(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn same_denial(denials: &[DeniedCall]) -> String {
    let Some(most) = denials.iter().max_by_key(|denied| denied.count) else {
        return format!("the same call was refused {} times", limits::DENIED_ALIKE);
    };
    let help = match (&most.rule_to_add, &most.why) {
        (Some(rule), _) => format!("; to allow it add `{rule}`"),
        (None, Some(why)) => format!("; {why}"),
        (None, None) => String::new(),
    };
    format!("the same call was refused {} times ({}: {}){help}", most.count, most.tool, most.input_summary)
}

fn no_result(ended: &AgentEnded) -> String {
    let code = match ended.exit {
        Exit::Code(code) => code,
        Exit::Signal(_) => 0,
    };
    let mut reason = format!("The Agent ended (exit {code}) without saying how it went");
    if let Some(bytes) = ended.overlong_line {
        let most = limits::AGENT_LINE_BYTES;
        reason.push_str(&format!("; it printed a line of {bytes} bytes, of which Owl reads {most}"));
    }
    let said = words(&ended.stderr_tail);
    if !said.is_empty() {
        reason.push_str(&format!("; on standard error: {said}"));
    }
    reason
}

fn nothing_changed(result: &AgentResult, denials: &[DeniedCall]) -> String {
    let total = denials.iter().fold(0u32, |sum, denied| sum.saturating_add(denied.count));
    if total == 0 {
        let said = result.text.as_deref().map(words).unwrap_or_default();
        return if said.is_empty() {
            "The Agent changed nothing and said nothing".into()
        } else {
            format!("The Agent changed nothing. Its last words: {said}")
        };
    }
    let calls =
        if total == 1 { "1 tool call was denied".to_string() } else { format!("{total} tool calls were denied") };
    let mut rules: Vec<String> = Vec::new();
    for rule in denials.iter().filter_map(|denied| denied.rule_to_add.as_ref()) {
        let rule = format!("`{}`", one_line(rule));
        if rules.len() < RULES_NAMED && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let help = if rules.is_empty() { String::new() } else { format!("; to allow them add {}", rules.join(", ")) };
    format!("The Agent changed nothing and {calls}{help}")
}

fn how(one: &Verification) -> String {
    match (one.state, one.exit_code) {
        (VerificationState::TimedOut, _) => "ended, it took too long".into(),
        (_, Some(code)) => format!("exit {code}"),
        (_, None) => one.message.as_deref().map_or_else(|| "no answer".into(), one_line),
    }
}

fn words(text: &str) -> String {
    cut_chars(visible(text).trim(), WORDS_CHARS)
}

fn one_line(text: &str) -> String {
    cut_chars(&visible(text).replace('\n', "\\n").replace('\t', "\\t"), limits::DENIAL_SUMMARY_CHARS)
}

/// Returns the end of what was printed.
fn last_words(output: &Clipped) -> String {
    let text = if output.tail.is_empty() { &output.head } else { &output.tail };
    let text = visible(text.trim());
    let skipped = text.chars().count().saturating_sub(WORDS_CHARS);
    text.chars().skip(skipped).collect()
}
