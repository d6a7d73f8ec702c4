//! The words that are not options: which is a path, a pathspec, a revision or a pattern, and which of them has to be
//! looked up (D11, D12).

use super::{
    DenialKind, Program, confine,
    hint::{Refusal, Suggestion, tick},
    inject::{Arg, By},
    matcher::First,
    pathspec,
    place::{self, AsWritten},
    revision::{self, Revision},
    rule::{self, Rule},
};
use crate::{
    ports::{Depth, Look},
    text::AbsPath,
};
use alloc::{format, string::String, vec, vec::Vec};

/// A word that is not an option.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) text: String,
    pub(super) role: Role,
    /// Which look belongs to it.
    pub(super) look: Option<usize>,
    /// The word's index in the line.
    pub(super) by: By,
    /// Whether a shell would have expanded a list in it.
    pub(super) bare_braces: bool,
    behind: bool,
}

/// What an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A path that the program opens or lists.
    Path,
    /// git's own pattern of paths; it may name the past.
    Pathspec,
    /// A revision, unless a path of that name exists.
    RevisionOrPath,
    /// A path, if it exists; it cannot be a revision.
    PathIfThere,
    /// A revision, whatever exists.
    Revision,
    /// An option that keeps its place among the revisions.
    Start,
    /// A path inside an option's value.
    InValue,
    /// The workdir, because nothing else was named.
    Workdir,
}

impl Operand {
    pub(super) fn new(arg: Arg, behind: bool) -> Self {
        let bare_braces = arg.word.has_bare_brace_list();
        Self { text: arg.word.text, role: Role::Path, look: None, by: arg.by, bare_braces, behind }
    }

    /// Makes one of a path that stands in an option's value.
    pub(super) fn inside(text: String, by: By) -> Self {
        Self { text, role: Role::InValue, look: None, by, bare_braces: false, behind: false }
    }

    /// Makes one of an option that keeps its place among the revisions.
    pub(super) fn start(text: String, by: By) -> Self {
        Self { role: Role::Start, ..Self::inside(text, by) }
    }

    /// Says whether this is an option of that name, which stands without a value among the revisions.
    pub(super) fn is_start(&self, name: &str) -> bool {
        self.role == Role::Start && self.text == name
    }

    /// Writes a path as git reads it: without ways up.
    fn take_out_ways_up(&mut self) {
        if let Some(straight) = place::without_ways_up(&self.text) {
            self.text = straight;
        }
    }

    /// Returns the word's index in the line, for hints.
    pub(super) fn index(&self) -> usize {
        match self.by {
            By::Model(index) => index,
            By::Owl => 0,
        }
    }
}

/// Operands while they are sorted.
pub(super) struct Operands<'w> {
    pub(super) rule: &'static Rule,
    pub(super) workdir: Option<&'w AbsPath>,
    pub(super) first: First,
    /// Whether the line holds `--`: then what stands before it is a revision, whatever is called so (gate.md 4.6).
    pub(super) is_parted: bool,
    pub(super) operands: Vec<Operand>,
    pub(super) looks: Vec<Look>,
    pub(super) pattern: Option<String>,
}

impl Operands<'_> {
    /// Sorts what was found, and the paths inside values.
    pub(super) fn class(&mut self, found: Vec<Operand>, values: Vec<Operand>, recurses: bool, has_pattern: bool) {
        let depth = if recurses { Depth::Tree } else { Depth::Entry };
        for mut value in values {
            value.look = Some(self.look(value.text.clone(), Depth::Entry));
            self.operands.push(value);
        }
        match self.rule.operands {
            rule::Operands::Nothing => found.iter().for_each(|operand| self.too_many(operand)),
            rule::Operands::Paths => {
                if found.is_empty() {
                    let program = self.rule.program.name();
                    let message = format!("{program} without a file reads standard input, and there is none");
                    self.first.note(
                        Refusal::whole(DenialKind::Operand, message)
                            .suggest(vec![Suggestion::appended("", vec!["README.md".into()])]),
                    );
                }
                self.paths(found, depth);
            }
            rule::Operands::PathsOrWorkdir => {
                let is_empty = found.is_empty();
                self.paths(found, depth);
                if is_empty && recurses {
                    self.whole_workdir();
                }
            }
            rule::Operands::PatternThenPaths => self.pattern_then_paths(found, depth, has_pattern),
            rule::Operands::PathPatterns => {
                for operand in found {
                    self.pathspec(operand);
                }
            }
            rule::Operands::RevisionsThenPaths => self.revisions_then_paths(found),
        }
    }

    fn paths(&mut self, found: Vec<Operand>, depth: Depth) {
        for mut operand in found {
            let is_plus =
                operand.text.strip_prefix('+').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if self.rule.program == Program::Tail && is_plus && !operand.behind {
                self.first.note(old_start(&operand));
            } else if self.is_fine(&operand.text, &operand) {
                operand.look = Some(self.look(operand.text.clone(), depth));
            }
            self.operands.push(operand);
        }
    }

    fn pattern_then_paths(&mut self, mut found: Vec<Operand>, depth: Depth, has_pattern: bool) {
        if !has_pattern {
            if found.is_empty() {
                let message = "grep needs a pattern";
                return self.first.note(
                    Refusal::whole(DenialKind::Operand, message).suggest(vec![Suggestion::line("", "grep -rn TODO .")]),
                );
            }
            self.pattern = Some(found.remove(0).text);
        }
        let is_empty = found.is_empty();
        self.paths(found, depth);
        if !is_empty {
            return;
        }
        if depth == Depth::Tree {
            return self.whole_workdir();
        }
        let message = "grep without a file reads standard input, and there is none";
        let suggestion = Suggestion::around("", 1, vec!["-rn".into()], vec![".".into()]);
        self.first.note(Refusal::whole(DenialKind::Operand, message).suggest(vec![suggestion]));
    }

    fn whole_workdir(&mut self) {
        let look = self.look(".".into(), Depth::Tree);
        let by = By::Owl;
        self.operands.push(Operand { role: Role::Workdir, look: Some(look), ..Operand::inside(".".into(), by) });
    }

    fn revisions_then_paths(&mut self, found: Vec<Operand>) {
        let mut paths = false;
        for mut operand in found {
            if operand.role == Role::Start {
                self.operands.push(operand);
                continue;
            }
            let revision = revision::read(&operand.text);
            if self.is_parted && !operand.behind {
                match revision {
                    Revision::BadPath(bad) => self.first.note(confine::refuse_written(&bad, &operand.text, None, None)),
                    Revision::Good if !operand.bare_braces => operand.role = Role::Revision,
                    Revision::Good | Revision::None => self.first.note(before_the_paths(&operand)),
                }
                self.operands.push(operand);
                continue;
            }
            let is_glob = (paths || revision == Revision::None) && operand.text.contains(['*', '?', '[']);
            let is_path = ["/", "./", "../"].iter().any(|start| operand.text.starts_with(start))
                || matches!(operand.text.as_str(), "." | ".." | "-" | "");
            if operand.behind || is_glob || pathspec::is_only_a_pathspec(&operand.text) {
                paths = true;
                self.pathspec(operand);
                continue;
            }
            paths |= is_path;
            if paths {
                self.path_if_there(operand);
                continue;
            }
            let written = place::as_written(&operand.text);
            match revision {
                Revision::BadPath(bad) => self.first.note(confine::refuse_written(&bad, &operand.text, None, None)),
                Revision::Good if !operand.bare_braces => {
                    // `:/words` is a search in messages, and what is no path as written names none. The path in a commit
                    // is git's alone, and a way up in it none of the system's.
                    let is_looked_up = written == AsWritten::Fine
                        && !operand.text.starts_with(":/")
                        && place::without_ways_up(&operand.text).is_none();
                    operand.role = if is_looked_up { Role::RevisionOrPath } else { Role::Revision };
                    operand.look = is_looked_up.then(|| self.look(operand.text.clone(), Depth::Entry));
                    self.operands.push(operand);
                }
                Revision::Good | Revision::None => {
                    self.path_if_there(operand);
                }
            }
        }
    }

    /// Takes a word for a path that git would look for, and die of where it is not there.
    fn path_if_there(&mut self, mut operand: Operand) {
        if self.is_fine(&operand.text, &operand) {
            operand.take_out_ways_up();
            operand.role = Role::PathIfThere;
            operand.look = Some(self.look(operand.text.clone(), Depth::Entry));
            self.operands.push(operand);
        }
    }

    fn pathspec(&mut self, mut operand: Operand) {
        operand.role = Role::Pathspec;
        match pathspec::path_of(&operand.text) {
            None => self.first.note(unknown_magic(&operand.text)),
            // Magic alone, such as `:/`, means the whole tree.
            Some("") if !operand.text.is_empty() => {}
            Some(path) => {
                let path = String::from(path);
                if self.is_fine(&path, &operand) {
                    self.look_at(&mut operand, path);
                }
            }
        }
        self.operands.push(operand);
    }

    /// Has the path of a pathspec looked up, written as git reads it.
    fn look_at(&mut self, operand: &mut Operand, path: String) {
        if path == operand.text {
            operand.take_out_ways_up();
            operand.look = Some(self.look(operand.text.clone(), Depth::Entry));
            return;
        }
        // What git does with a way up depends on the magic.
        if let Some(straight) = place::without_ways_up(&path) {
            let message = format!("{} holds a way up behind magic", tick(&operand.text));
            let refusal = Refusal::about(DenialKind::Operand, &operand.text, message);
            self.first.note(refusal.say(format!("write the path as {}", tick(&straight))));
            return;
        }
        operand.look = Some(self.look(path, Depth::Entry));
    }

    /// Says whether nothing is wrong with a path as written, and notes what is.
    fn is_fine(&mut self, path: &str, operand: &Operand) -> bool {
        if operand.text == "-" {
            let message = "`-` is standard input, and there is none";
            self.first.note(Refusal::about(DenialKind::Operand, "-", message.into()).say("name a file"));
            return false;
        }
        match place::as_written(path) {
            AsWritten::Fine => true,
            bad @ (AsWritten::Empty | AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)) => {
                self.first.note(confine::refuse_written(&bad, &operand.text, self.workdir, Some(operand.index())));
                false
            }
        }
    }

    fn look(&mut self, word: String, depth: Depth) -> usize {
        self.looks.push(Look { word, depth });
        self.looks.len() - 1
    }

    fn too_many(&mut self, operand: &Operand) {
        let pattern = operand.text.as_str();
        if self.rule.program == Program::Git && pattern.contains(['*', '?', '[']) {
            let message = format!("git branch takes no pattern here, and {} is one", tick(pattern));
            let option = if pattern.starts_with("origin/") { "--remotes=" } else { "--branches=" };
            let named = [option, pattern].concat();
            let line = ["git", "log", "--oneline", "--no-walk", "--decorate", &named];
            let refusal = Refusal::about(DenialKind::Operand, pattern, message);
            return self.first.note(
                refusal.suggest_or_say(vec![Suggestion::words("those that match", line)], "to list: `git branch -a`"),
            );
        }
        let message = match self.rule.program {
            Program::Git => "git branch takes no name here, since alone with one it would create it".into(),
            Program::Cat | Program::Grep | Program::Head | Program::Ls | Program::Tail | Program::Wc => {
                format!("{} takes no operand here, and {} is one", self.rule.covers(), tick(&operand.text))
            }
        };
        self.first.note(Refusal::about(DenialKind::Operand, &operand.text, message).say("to list: `git branch -a`"));
    }
}

fn before_the_paths(operand: &Operand) -> Refusal {
    let message = format!("{} stands before `--`, where only revisions may stand, and is none", tick(&operand.text));
    Refusal::about(DenialKind::Operand, &operand.text, message).say("put paths behind `--`")
}

/// Refuses tail's old `+N`, which is a number to GNU tail and a file to others.
fn old_start(operand: &Operand) -> Refusal {
    let message = format!("{} is an old way to say where tail begins, and may be a file's name", tick(&operand.text));
    let with = vec!["-n".into(), operand.text.clone()];
    let suggestion = Suggestion::replaced("", operand.index(), 1, with);
    Refusal::about(DenialKind::Operand, &operand.text, message)
        .suggest_or_say(vec![suggestion], "`tail -n +5 README.md`")
}

pub(super) fn unknown_magic(spec: &str) -> Refusal {
    let message = format!(
        "{} begins with a colon, and is none of git's `:!`, `:/` or `:(top,exclude,icase,literal,glob)`",
        tick(spec)
    );
    Refusal::about(DenialKind::Operand, spec, message).say("write the path without the colon")
}
