//! Refusals of a program or a verb that the table does not hold, in sentences that can be acted on (D11).

use super::{
    DenialKind, Program, Verb,
    hint::{self, Refusal, Suggestion, tick},
    shell,
    unfit::LEAVE_OUT,
    words::Word,
};
use crate::text::AbsPath;
use alloc::{format, vec, vec::Vec};

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
const STARTERS: [&str; 13] = [
    "sudo", "env", "exec", "command", "time", "nice", "nohup", "timeout", "xargs", "builtin", "doas", "stdbuf", "eval",
];

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
    (&["config"], "what the branch here follows: `git status -sb`"),
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
        let alone = |count| Suggestion::replaced("send the command alone", 0, count, Vec::new());
        return refusal.suggest(vec![alone(1), alone(2)]);
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
            let lead = if range.starts_with("1,") || last == "1" { "" } else { "up to its last line" };
            let line = Suggestion::words(lead, ["head", "-n", last].iter().chain(files).copied());
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
            let says_which = |word: &&str| matches!(*word, "-F" | "-P" | "-G" | "--fixed-strings");
            let which = if [pattern].into_iter().chain(paths).any(says_which) { "-rn" } else { "-rnE" };
            let line = ["grep", which, pattern]
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
        ("less" | "more" | "bat" | "nl" | "tac" | "open" | "vim" | "vi" | "nano", [.., file]) => {
            let line = ["cat"].into_iter().chain((name == "nl").then_some("-n")).chain([*file]);
            refusal.suggest_or_say(vec![Suggestion::words("to read it", line)], "to read a file: `cat README.md`")
        }
        ("stat" | "file" | "du", [.., file]) => {
            let line = Suggestion::words("to see size and date", ["ls", "-ld", file]);
            refusal.suggest_or_say(vec![line], "to see size and date: `ls -l README.md`")
        }
        (_, _) => match NEIGHBOURS.iter().find(|(names, _)| names.contains(&name)) {
            Some((_, hint)) => refusal.say(*hint),
            None => refusal.say("to read: `cat README.md`; to search: `grep -rn PATTERN .`; to list: `ls -la`"),
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
            // Of what was staged, `show` tells nothing: it is in two parents of three.
            let before = [&entry, "^"].concat();
            refusal.suggest(vec![Suggestion::words("", ["git", "diff", &before, &entry])])
        }
        ("rev-parse", Some("HEAD")) if rest.contains(&"--abbrev-ref") => {
            refusal.suggest(vec![Suggestion::line("", "git branch --show-current")])
        }
        ("rev-parse", Some(revision)) => {
            let line = ["git", "log", "-n", "1", "--format=%H %d", revision];
            refusal.suggest_or_say(
                vec![Suggestion::words("to name a commit", line)],
                "to name a commit: `git log -n 1 --format='%H %d'`",
            )
        }
        ("reflog", Some(operand)) if !matches!(operand, "expire" | "delete" | "exists") => {
            let names = rest.iter().copied().filter(|word| !matches!(*word, "show" | "list"));
            let line = ["git", "log", "-g", "--oneline"].into_iter().chain(names);
            refusal.suggest_or_say(vec![Suggestion::words("", line)], "`git log -g --oneline`")
        }
        ("grep", Some(_)) if !rest.iter().any(|word| is_of_a_commit(word)) => {
            let tree = (rest.iter().filter(|word| !word.starts_with('-')).count() == 1).then_some(".");
            let line = Suggestion::words("to search the files", ["grep", "-rn"].into_iter().chain(rest).chain(tree));
            refusal.suggest_or_say(vec![line], "to search the files: `grep -rn PATTERN .`")
        }
        (_, _) => match OTHER_VERBS.iter().find(|(names, _)| names.contains(&name)) {
            Some((_, hint)) => refusal.say(*hint),
            None => refusal.say("what can be read: `git log`, `git show`, `git diff`, `git status`, `git branch -a`"),
        },
    }
}

/// Says whether a word of `git grep` says to search a commit, of which nothing here searches the files.
fn is_of_a_commit(word: &str) -> bool {
    matches!(word, "HEAD" | "--" | "main" | "master" | "--cached") || word.contains(['~', '^', '@'])
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
