//! Refusals of words that the table does not hold, in sentences that can be acted on (D11).

use super::{
    DenialKind, Program, Verb,
    hint::{self, Refusal, Suggestion, tick},
    matcher::{Given, is_long},
    place::AsWritten,
    refused::{self, Instead, Refused},
    rule::{Opt, Rule, Stands, Takes, Value},
    shell,
    value::Wrong,
    words::{self, Word},
};
use crate::text::AbsPath;
use alloc::{format, string::String, vec, vec::Vec};

/// Programs that people reach for, and what does their work here.
#[rustfmt::skip]
const NEIGHBOURS: &[(&[&str], &str)] = &[
    (&["find", "tree", "fd", "dir"], "`ls -R` lists a tree"),
    (&["rg", "ag", "ack"], "to search a tree: `grep -rn PATTERN .`"),
    (&["less", "more", "bat", "nl", "tac", "open", "vim", "vi", "nano"], "to read a file: `cat README.md`"),
    (&["cd", "pushd", "pwd"], shell::NAME_THE_DIRECTORY),
    (&["stat", "file", "du"], "to see size and date: `ls -l README.md`"),
    (&["diff", "cmp", "comm"], "what differs in the repository: `git diff`"),
    (&["gh", "hub", "tig"], "what the repository itself records: `git log --oneline -n 20`"),
];

/// Words that only start another program.
const STARTERS: [&str; 12] =
    ["sudo", "env", "exec", "command", "time", "nice", "nohup", "timeout", "xargs", "builtin", "doas", "stdbuf"];

/// Verbs that people reach for, and what shows the same here.
#[rustfmt::skip]
const OTHER_VERBS: &[(&[&str], &str)] = &[
    (&["blame", "annotate"], "to see how lines came about: `git log -L 1,20:README.md`"),
    (&["ls-files", "ls-tree"], "to list files: `ls -R`; those of a commit: `git show HEAD:`"),
    (&["grep"], "to search the files: `grep -rn PATTERN .`"),
    (&["rev-parse", "rev-list", "describe", "name-rev"], "to name a commit: `git log -n 1 --format='%H %d'`"),
    (&["remote", "fetch", "pull", "push", "ls-remote", "clone"], "what is known of the remote: `git branch -r`"),
    (&["tag"], "to list tags: `git log --tags --no-walk --oneline --decorate`"),
    (&["stash"], "to see the newest: `git show 'stash@{0}'`"),
    (&["reflog"], "`git log -g --oneline`"),
    (&["shortlog"], "`git log --format='%an %s'`"),
    (&["cat-file"], "to see a file of a commit: `git show HEAD:README.md`"),
    (&["add", "commit", "reset", "restore", "rm", "mv", "clean", "merge", "rebase", "cherry-pick", "revert", "am", "apply"],
     "nothing here writes; to see what a person would: `git status`"),
    (&["config"], "what each branch follows: `git branch -vv`"),
    (&["worktree"], "Owl's own tools know the worktrees; the branches: `git branch -a`"),
    (&["help", "version"], "`git log --oneline -n 20`"),
];

/// Refuses a first word that is none of the seven programs.
pub(super) fn program(words: &[Word]) -> Refusal {
    let name = words.first().map_or("", |word| word.text.as_str());
    let message = format!("{} is not a program Owl runs; it runs cat, git, grep, head, ls, tail and wc", tick(name));
    let refusal = Refusal::about(DenialKind::Program, name, message);
    if name.split_once('=').is_some_and(|(variable, _)| is_variable(variable)) {
        return refusal.suggest(vec![Suggestion::replaced("no variable can be set; leave it out", 0, 1, Vec::new())]);
    }
    if STARTERS.contains(&name) {
        return refusal.suggest(vec![Suggestion::replaced("send the command alone", 0, 1, Vec::new())]);
    }
    let bare = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if bare != name && Program::from_name(&bare).is_some() {
        return refusal.suggest(vec![Suggestion::replaced("by its bare name", 0, 1, vec![bare])]);
    }
    if let Some((first, _)) = name.split_once([' ', '\t'])
        && Program::from_name(first).is_some()
    {
        let rest = words.iter().skip(1).map(|word| word.text.as_str());
        let line = name.split([' ', '\t']).chain(rest);
        return refusal.suggest(vec![Suggestion::words("without the quotes", line)]);
    }
    match (name, words.iter().skip(1).map(|word| word.text.as_str()).collect::<Vec<_>>().as_slice()) {
        ("egrep", rest) => refusal.suggest(vec![Suggestion::words("", ["grep", "-E"].iter().chain(rest).copied())]),
        ("fgrep", rest) => refusal.suggest(vec![Suggestion::words("", ["grep", "-F"].iter().chain(rest).copied())]),
        ("ll", rest) => refusal.suggest(vec![Suggestion::words("", ["ls", "-l"].iter().chain(rest).copied())]),
        ("sed", ["-n", range, files @ ..]) if let Some(last) = last_line(range) => {
            let line = Suggestion::words("", ["head", "-n", last].iter().chain(files).copied());
            refusal.suggest_or_say(vec![line], "to read a part: `head -n 40 README.md`")
        }
        ("sed", ["-n", range, file])
            if let Some(first) = range.strip_suffix(",$p").filter(|first| is_number(first)) =>
        {
            let from = ["+", first].concat();
            let line = Suggestion::words("", ["tail", "-n", &from, file]);
            refusal.suggest_or_say(vec![line], "to read a part: `head -n 40 README.md`")
        }
        ("sed" | "awk" | "cut" | "sort" | "uniq" | "jq", [.., file]) => {
            let line = Suggestion::words("to read a part", ["head", "-n", "40", file]);
            refusal.suggest_or_say(vec![line], "to read a part: `head -n 40 README.md`")
        }
        ("rg" | "ag" | "ack", [pattern, paths @ ..]) => {
            let line = ["grep", "-rnE", pattern]
                .into_iter()
                .chain(if paths.is_empty() { &["."] } else { paths }.iter().copied());
            refusal.suggest_or_say(
                vec![Suggestion::words("to search a tree", line)],
                "to search a tree: `grep -rn PATTERN .`",
            )
        }
        ("find", [directory, "-name", glob]) if let Some((include, ".")) = hint::below(glob) => {
            let lists = Suggestion::words("to find names", ["grep", "-rl", &include, "", directory]);
            refusal.suggest_or_say(vec![lists], "`ls -R` lists a tree")
        }
        (_, _) => match NEIGHBOURS.iter().find(|(names, _)| names.contains(&name)) {
            Some((_, hint)) => refusal.say(*hint),
            None => refusal,
        },
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns B of sed's `A,Bp` and `Bp`.
fn last_line(range: &str) -> Option<&str> {
    let lines = range.strip_suffix('p')?;
    let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
    (is_number(first) && is_number(last)).then_some(last)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Refuses git without one of its five verbs at `at`. `workdir` is only for hints.
pub(super) fn verb(words: &[Word], at: usize, workdir: Option<&AbsPath>) -> Refusal {
    let Some(word) = words.get(at) else {
        let message = "git needs one of the verbs branch, diff, log, show and status";
        return Refusal::whole(DenialKind::Verb, message).suggest(vec![Suggestion::line("", "git status")]);
    };
    let name = word.text.as_str();
    if name.starts_with('-') {
        let message = "between git and its verb only `--no-pager` may stand";
        let refusal = Refusal::about(DenialKind::Verb, name, message.into());
        let directory = words.get(at + 1).map(|word| word.text.as_str());
        return match (name, directory) {
            ("-C", Some(directory)) => {
                let directory = hint::relative_to(workdir, directory).unwrap_or_else(|| directory.into());
                let rest = words.iter().skip(at + 2).map(|word| word.text.as_str());
                let line: Vec<&str> = core::iter::once("git").chain(rest).collect();
                let there = shell::re_rooted(&directory, &line);
                let lead = if there.as_deref() == Some(&hint::join(line.iter().copied())) {
                    LEAVE_OUT
                } else {
                    "name the path"
                };
                let suggestions = there.map(|line| Suggestion::line(lead, line)).into_iter().collect();
                refusal.suggest_or_say(suggestions, shell::NAME_THE_DIRECTORY)
            }
            (
                "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" | "--attr-source",
                Some(_),
            ) => {
                let two = Suggestion::replaced("leave it out", at, 2, Vec::new());
                refusal.suggest(vec![two, Suggestion::replaced("leave it out", at, 1, Vec::new())])
            }
            (_, _) => refusal.suggest(vec![Suggestion::replaced("leave it out", at, 1, Vec::new())]),
        };
    }
    let message = format!("Owl runs git branch, diff, log, show and status; {} is none of them", tick(name));
    let refusal = Refusal::about(DenialKind::Verb, name, message);
    let lower = name.to_ascii_lowercase();
    if Verb::from_name(&lower).is_some() {
        return refusal.suggest(vec![Suggestion::replaced("", at, 1, vec![lower])]);
    }
    let rest: Vec<&str> = words.iter().skip(at + 1).map(|word| word.text.as_str()).collect();
    let operand = rest.iter().copied().find(|word| !word.starts_with('-'));
    match (name, operand) {
        ("checkout" | "switch", Some(_))
            if rest.iter().any(|word| matches!(*word, "--" | "-b" | "-B" | "-c" | "-C")) =>
        {
            refusal.say("nothing here writes; to see what a person would: `git status`")
        }
        ("checkout" | "switch", Some(branch)) => {
            let file = format!("{branch}:README.md");
            refusal.suggest(vec![Suggestion::words("to see a file of another branch", ["git", "show", &file])])
        }
        ("checkout" | "switch", None) => refusal.say("to list branches: `git branch -a`"),
        ("blame" | "annotate", Some(_)) => {
            let lines = blamed(words.iter().skip(at + 1).map(|word| word.text.as_str()));
            refusal
                .suggest_or_say(lines.into_iter().collect(), "to see how lines came about: `git log -L 1,20:README.md`")
        }
        ("cat-file", Some(_)) if let Some(object) = rest.last().filter(|object| !object.starts_with('-')) => {
            let shown = Suggestion::words("to see it", ["git", "show", object]);
            refusal.suggest_or_say(vec![shown], "to see a file of a commit: `git show HEAD:README.md`")
        }
        ("stash", Some("list")) => refusal.suggest(vec![Suggestion::line("", "git log -g --oneline stash")]),
        ("stash", Some("show")) => {
            let named = words.iter().skip(at + 2).map(|word| word.text.as_str()).find(|word| !word.starts_with('-'));
            let entry = match named {
                Some(number) if is_number(number) => format!("stash@{{{number}}}"),
                Some(entry) => entry.into(),
                None => "stash@{0}".into(),
            };
            refusal.suggest(vec![Suggestion::words("", ["git", "show", &entry])])
        }
        ("grep", Some(_)) if !rest.contains(&"HEAD") => {
            let tree = (rest.iter().filter(|word| !word.starts_with('-')).count() == 1).then_some(".");
            let line = Suggestion::words("to search the files", ["grep", "-rn"].into_iter().chain(rest).chain(tree));
            refusal.suggest_or_say(vec![line], "to search the files: `grep -rn PATTERN .`")
        }
        (_, _) => match OTHER_VERBS.iter().find(|(names, _)| names.contains(&name)) {
            Some((_, hint)) => refusal.say(*hint),
            None => refusal,
        },
    }
}

/// Writes `git blame` as a log of the lines that it is about.
fn blamed<'w>(mut words: impl Iterator<Item = &'w str>) -> Option<Suggestion> {
    let (mut range, mut operands) = ("1,20", Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix("-L") {
            Some("") => range = words.next()?,
            Some(attached) => range = attached,
            None if word.starts_with('-') => {}
            None => operands.push(word),
        }
    }
    let file = operands.pop()?;
    let lines = format!("{range}:{file}");
    Some(Suggestion::words("to see how lines came about", ["git", "log", "-L", &lines].into_iter().chain(operands)))
}

/// Refuses a long option that the row does not hold.
pub(super) fn option(rule: &Rule, word: &str, name: &str, at: usize) -> Refusal {
    if let Some(refused) = refused::reason(rule, name) {
        return on_purpose(refused, word, name, at);
    }
    let refusal = |more: &str| {
        let message = format!("{} is not an option of {} here{more}", tick(name), rule.covers());
        Refusal::about(DenialKind::Option, word, message)
    };
    let value = word.strip_prefix(name).unwrap_or_default();
    let mut completions =
        rule.options().flat_map(|opt| opt.names.iter()).filter(|known| known.starts_with(name) && name.len() > 2);
    match (completions.next(), completions.next()) {
        (Some(whole), None) => {
            let with = vec![[whole, value].concat()];
            refusal("; names are written whole").suggest(vec![Suggestion::replaced("", at, 1, with)])
        }
        (Some(_), Some(_)) => refusal("; names are written whole"),
        (None, _) => refusal(""),
    }
}

/// Refuses a letter that the row does not hold.
pub(super) fn letter(rule: &Rule, word: &str, name: &str, at: usize) -> Refusal {
    if let Some(refused) = refused::reason(rule, name) {
        return on_purpose(refused, word, name, at);
    }
    let letters = word.trim_start_matches('-');
    let is_digit = |c: &char| c.is_ascii_digit();
    let (digits, others): (String, String) = letters.chars().partition(is_digit);
    let is_number = rule.number.is_some() && !digits.is_empty();
    if !is_number {
        let message = format!("{} is not an option of {} here", tick(name), rule.covers());
        let refusal = Refusal::about(DenialKind::Option, word, message);
        // `grep '->' src`: what cannot be letters was meant as the pattern.
        let is_pattern = rule.program == Program::Grep && !letters.bytes().all(|b| b.is_ascii_alphanumeric());
        let pattern = Suggestion::replaced("if it is the pattern", at, 1, vec!["-e".into(), word.into()]);
        return if is_pattern { refusal.suggest(vec![pattern]) } else { refusal };
    }
    let message =
        format!("{} is not an option of {} here; a number stands alone, such as `-5`", tick(word), rule.covers());
    let number = format!("-{digits}");
    // `tail -5c`: the letter says what is counted.
    let counted = if others == "c" { vec![format!("-c"), digits] } else { Vec::new() };
    Refusal::about(DenialKind::Option, word, message).suggest(vec![
        Suggestion::replaced("", at, usize::from(!counted.is_empty()), counted),
        Suggestion::replaced("", at, 1, vec![number.clone(), format!("-{others}")]),
        Suggestion::replaced("", at, 1, vec![number]),
    ])
}

/// Refuses letters in one word where the program reads none so.
pub(super) fn bundle(rule: &Rule, word: &str, at: usize) -> Refusal {
    let message = format!("{} reads no letters together, as {} is written", rule.covers(), tick(word));
    let letters: Vec<String> = word.chars().skip(1).map(|letter| format!("-{letter}")).collect();
    Refusal::about(DenialKind::Option, word, message).suggest(vec![Suggestion::replaced("", at, 1, letters)])
}

fn on_purpose(refused: &Refused, word: &str, name: &str, at: usize) -> Refusal {
    let refusal = Refusal::about(DenialKind::Option, word, format!("{} {}", tick(name), refused.why));
    // A letter among others: the others stay.
    let others: String =
        if is_long(word) { String::new() } else { word.chars().filter(|c| !name.contains(*c)).collect() };
    let kept: Vec<String> = if others.is_empty() || !word.is_ascii() { Vec::new() } else { vec![format!("-{others}")] };
    let with = |words: &[&str]| kept.iter().cloned().chain(words.iter().copied().map(String::from)).collect::<Vec<_>>();
    // A value that is not attached is the next word.
    let is_value_next = word == name || (!is_long(word) && word.ends_with(name.trim_start_matches('-')));
    match refused.instead {
        Instead::LeaveOut => refusal.suggest_or_say(vec![Suggestion::replaced(LEAVE_OUT, at, 1, with(&[]))], LEAVE_OUT),
        Instead::LeaveOutValue(lead) => {
            let count = if is_value_next { 2 } else { 1 };
            let kept = if is_value_next || is_long(word) { with(&[]) } else { Vec::new() };
            refusal.suggest_or_say(vec![Suggestion::replaced(lead, at, count, kept)], lead)
        }
        // `tail -fn5`: what stays says how much already.
        Instead::These(words) if words == ["-n", "50"] && others.contains(['n', 'c']) => {
            refusal.suggest(vec![Suggestion::replaced(LEAVE_OUT, at, 1, with(&[]))])
        }
        Instead::These(words) => refusal.suggest(vec![
            Suggestion::replaced("", at, 1, with(words)).unless(if words.contains(&"-n") { COUNTS } else { &[] }),
            Suggestion::replaced(LEAVE_OUT, at, 1, with(&[])),
        ]),
        Instead::Say(hint) => refusal.say(hint),
        Instead::Nothing => refusal,
    }
}

const LEAVE_OUT: &str = "leave it out";

/// How a line of head or tail already says how much it wants.
const COUNTS: &[&str] = &["-n", "-c", "--lines", "--bytes", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"];

/// Refuses a value that is not of its type.
pub(super) fn value(opt: &Opt, name: &str, text: &str, word: &str, wrong: Wrong, at: usize) -> Refusal {
    let about = |message: String| Refusal::about(DenialKind::OptionValue, word, message);
    // The value may be attached, or a word of its own.
    let (from, count) = if word == text { (at.saturating_sub(1), 2) } else { (at, 1) };
    let left_out = Suggestion::replaced(LEAVE_OUT, from, count, Vec::new());
    if opt.stands == Stands::OwlsOwn {
        let message =
            format!("`{name}` is for Owl to say, so that git stays out of submodules; {} is another word", tick(text));
        return about(message).suggest(vec![left_out]);
    }
    match wrong {
        Wrong::NotAmong(words) => {
            about(format!("`{name}` takes one of {}; {} is none of them", words.join(", "), tick(text)))
        }
        Wrong::Placeholder(range) => placeholder(name, text, range, word, at),
        Wrong::Expected(expected) => {
            let refusal = about(format!("`{name}` takes {expected}; {} is none", tick(text)));
            let is_include = opt.value() == Some(Value::Include) && !text.is_empty();
            if opt.value() == Some(Value::SortKey) && text.trim_start_matches('-').starts_with("signature") {
                return about(format!("{} makes git start a signature program", tick(text))).suggest(vec![left_out]);
            }
            if is_include { refusal.suggest(vec![left_out]) } else { refusal }
        }
        Wrong::Path(AsWritten::Empty) => about(format!("`{name}` needs a path that is not empty")),
        Wrong::Path(AsWritten::Fine | AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)) => {
            about(format!("`{name}` takes a path inside the workdir; {} is none", tick(text)))
        }
    }
}

fn placeholder(name: &str, format: &str, range: core::ops::Range<usize>, word: &str, at: usize) -> Refusal {
    let part = format.get(range.clone()).unwrap_or_default();
    let bare = part.trim_start_matches(['%', '+', '-', ' ']);
    let why = if bare.starts_with('G') || bare.starts_with("(signature") || bare.starts_with("(*signature") {
        "makes git start a signature program"
    } else if bare.starts_with("(describe") {
        "makes git start a second git"
    } else {
        "is not a placeholder that Owl knows"
    };
    let before = format.get(..range.start).unwrap_or_default();
    let behind = format.get(range.end..).unwrap_or_default();
    let rest = [before.trim_end(), behind].concat();
    let refusal = Refusal::about(DenialKind::OptionValue, part, format!("{} {why}", tick(part)));
    if rest.trim().is_empty() {
        let (at, count) = if word == format { (at.saturating_sub(1), 2) } else { (at, 1) };
        return refusal.suggest(vec![Suggestion::replaced(LEAVE_OUT, at, count, Vec::new())]);
    }
    // The value may be attached, or a word of its own.
    let with = if word == format { rest } else { [name, if is_long(name) { "=" } else { "" }, &rest].concat() };
    refusal.suggest(vec![Suggestion::replaced("", at, 1, vec![with])])
}

/// Refuses an option that only Owl writes, in any other form than Owl's.
pub(super) fn owls_own(rule: &Rule, given: &Given, word: &str, at: usize) -> Refusal {
    let refusal = match given.opt.takes {
        Takes::Nothing => {
            let message = format!("{} is not an option of {} here", tick(given.name), rule.covers());
            Refusal::about(DenialKind::Option, word, message)
        }
        Takes::Attached(_) | Takes::Maybe(_) | Takes::Next(_) | Takes::NextOrHead(_) => {
            let message = format!("{} is for Owl to say", tick(given.name));
            Refusal::about(DenialKind::Option, word, message)
        }
    };
    refusal.suggest(vec![Suggestion::replaced("leave it out", at, 1, Vec::new())])
}

/// Refuses a list in braces where a pattern for names stands: write the option once for each.
pub(super) fn braces(name: &str, text: &str, word: &str, at: usize) -> Refusal {
    let message = format!("nothing here expands braces, and {} is read as it stands", tick(text));
    let refusal = Refusal::about(DenialKind::OptionValue, word, message);
    let Some(range) = words::brace_list(text, |_| true) else { return refusal };
    let (before, behind) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
    let inside = text.get(range.start + 1..range.end - 1).unwrap_or_default();
    let each = inside.split(',').map(|part| format!("{name}={before}{part}{behind}")).collect();
    // The value may be the next word: then the option's name goes too.
    let attached = word != text;
    let (at, count) = if attached { (at, 1) } else { (at.saturating_sub(1), 2) };
    refusal.suggest(vec![Suggestion::replaced("", at, count, each)])
}
