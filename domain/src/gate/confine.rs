//! A typed command and where its words really lead: inside, not git data under any name, nothing that leads out
//! (ADR-0022, D12). Judges; the path port has looked.

use super::{
    Access, DenialKind, Program, Reached,
    hint::{self, Refusal, Suggestion, tick},
    inject::By,
    matcher::{First, Given, Matched, owls_option},
    misplaced,
    operands::{Operand, Role, unknown_magic},
    place::AsWritten,
    words,
};
use crate::{
    git_names::spells_dot_git,
    ports::{Below, FileKind, Found, Hidden, Located, Place},
    show,
    text::AbsPath,
};
use alloc::{format, string::String, vec, vec::Vec};

/// What the places say of a command.
#[derive(Debug)]
pub(super) struct Confined<'c> {
    /// Revisions and what belongs among them, as written.
    pub(super) revisions: Vec<&'c str>,
    /// Paths as written.
    pub(super) paths: Vec<&'c str>,
    /// What Owl adds so that git data below a tree is left out.
    pub(super) left_out: Vec<Given>,
}

/// Judges where each word leads.
pub(super) fn confine<'c>(matched: &'c Matched, located: &Located) -> Result<Confined<'c>, Refusal> {
    if located.places.len() != matched.looks.len() {
        return Err(Refusal::whole(DenialKind::Workdir, "not every path could be looked up"));
    }
    let mut judge = Judge { matched, first: First::default(), hidden: Vec::new(), first_path: None };
    let mut revisions = Vec::new();
    let mut paths = Vec::new();
    for operand in &matched.operands {
        let place = operand.look.and_then(|look| located.places.get(look));
        match judge.operand(operand, place) {
            Part::Revision => revisions.push(operand.text.as_str()),
            Part::Path => paths.push(operand.text.as_str()),
            Part::Neither => {}
        }
    }
    let Judge { first, hidden, .. } = judge;
    first.verdict()?;
    Ok(Confined { revisions, paths, left_out: left_out(matched, &hidden)? })
}

/// Which part of the rebuilt line an operand belongs to.
enum Part {
    Revision,
    Path,
    Neither,
}

struct Judge<'c> {
    matched: &'c Matched,
    first: First,
    hidden: Vec<&'c Hidden>,
    /// Where in the line the first path stands, once one does.
    first_path: Option<usize>,
}

impl<'c> Judge<'c> {
    fn operand<'l: 'c>(&mut self, operand: &Operand, place: Option<&'l Place>) -> Part {
        match operand.role {
            Role::Start => Part::Revision,
            Role::Revision if let Some(first) = self.first_path => {
                self.first.note(misplaced::not_a_path(operand, first));
                Part::Path
            }
            Role::Revision => Part::Revision,
            Role::InValue | Role::Workdir => {
                self.place(operand, place);
                Part::Neither
            }
            Role::Path | Role::Pathspec => {
                self.first_path.get_or_insert(operand.index());
                self.place(operand, place);
                Part::Path
            }
            // git looks at each that stands before `--`, and Owl's `--` stands before them all.
            Role::RevisionOrPath | Role::PathIfThere
                if let Some(first) = self.first_path
                    && matches!(place, Some(Place::Absent)) =>
            {
                self.first.note(misplaced::no_such_path(operand, first));
                Part::Path
            }
            Role::RevisionOrPath | Role::PathIfThere if !matches!(place, Some(Place::Absent)) => {
                self.first_path.get_or_insert(operand.index());
                // It was looked up as it stands, and git would take the colon for magic.
                if operand.text.starts_with(':') {
                    self.first.note(unknown_magic(&operand.text));
                }
                self.place(operand, place);
                Part::Path
            }
            Role::RevisionOrPath => Part::Revision,
            Role::PathIfThere => {
                self.first.note(misplaced::neither(operand));
                Part::Path
            }
        }
    }

    fn place<'l: 'c>(&mut self, operand: &Operand, place: Option<&'l Place>) {
        let word = operand.text.as_str();
        let refusal = match place {
            // Only magic without a path has no place.
            None => return,
            Some(Place::Inside(found)) => return self.found(operand, found),
            Some(Place::Outside { leads_to }) => {
                let message = format!("{} leads to {}, out of the workdir", tick(word), tick(leads_to));
                Refusal::about(DenialKind::PathOutside, word, message).say(STAY_INSIDE)
            }
            Some(Place::Git) => {
                let message = format!("{} is git data, which is not part of what can be read", tick(word));
                Refusal::about(DenialKind::PathGit, word, message).say(WHAT_GIT_RECORDS)
            }
            Some(Place::BrokenLink) => {
                let message = format!("{} goes through a link, and nothing is there where it leads", tick(word));
                Refusal::about(DenialKind::PathLink, word, message)
            }
            Some(Place::Absent) => match self.sign(operand) {
                Some(refusal) => refusal,
                None => return,
            },
            Some(Place::Unknown { reason }) => {
                let message = format!("{} cannot be looked at: {}", tick(word), show::on_one_line(reason));
                Refusal::about(DenialKind::Operand, word, message)
            }
        };
        self.first.note(refusal);
    }

    fn found(&mut self, operand: &Operand, found: &'c Found) {
        let word = operand.text.as_str();
        match (found.kind, self.matched.rule.program) {
            (FileKind::File | FileKind::Directory, _)
            | (FileKind::Fifo | FileKind::Socket | FileKind::Device, Program::Ls | Program::Git) => {}
            (FileKind::Fifo | FileKind::Socket | FileKind::Device, program) => {
                let kind = match found.kind {
                    FileKind::Fifo => "a FIFO",
                    FileKind::Socket => "a socket",
                    FileKind::Device | FileKind::File | FileKind::Directory => "a device",
                };
                let message = format!("{} is {kind}, and {} would open it", tick(word), program.name());
                let suggestion = Suggestion::words("to see that it is there", ["ls", "-l", word]);
                self.first.note(Refusal::about(DenialKind::PathSpecial, word, message).suggest(vec![suggestion]));
            }
        }
        match &found.below {
            Below::NotAsked => {}
            Below::Hidden(hidden) => self.hidden.extend(hidden),
            Below::Shared(hidden) => {
                let name = String::from_utf8_lossy(hidden.name());
                let message = format!(
                    "below {} a git directory has the name {}, and so has something else: it cannot be left out alone",
                    tick(word),
                    tick(&name)
                );
                self.first.note(Refusal::about(DenialKind::Operand, word, message).say("name a subdirectory"));
            }
            Below::TooMany => {
                let message = format!("too much lies below {} to look at all of it", tick(word));
                self.first.note(Refusal::about(DenialKind::Operand, word, message).say("name a subdirectory"));
            }
        }
    }

    /// Refuses a path that names nothing and holds what only a shell would have read.
    fn sign(&self, operand: &Operand) -> Option<Refusal> {
        let word = operand.text.as_str();
        let sign = match operand.role {
            // git reads its own signs, and the name may be of the past; only a list that a shell would expand is none.
            Role::Pathspec | Role::RevisionOrPath | Role::PathIfThere => operand.bare_braces.then_some('{'),
            Role::Path | Role::InValue => words::shell_sign(word),
            Role::Revision | Role::Start | Role::Workdir => None,
        }?;
        let message = match sign {
            '*' | '?' | '[' | '{' => {
                let sign = if sign == '{' { String::from("braces") } else { format!("`{sign}`") };
                format!("nothing expands {sign}, and no file here is called {}", tick(word))
            }
            _ => format!("{} holds what a shell would read, and no file here is called so", tick(word)),
        };
        let refusal = Refusal::about(DenialKind::PathShellSign, word, message);
        Some(match sign {
            '*' | '?' | '[' => refusal.suggest(self.globbed(operand)),
            '{' => refusal.suggest_or_say(braced(word, operand), "name each path"),
            _ => refusal.say("write a path that exists, relative to the workdir"),
        })
    }
}

impl Judge<'_> {
    /// What does the same without a glob.
    fn globbed(&self, operand: &Operand) -> Vec<Suggestion> {
        let Some((include, directory)) = hint::below(&operand.text) else { return Vec::new() };
        let same = match self.matched.rule.program {
            Program::Grep => {
                let with = vec!["-r".into(), include, directory.into()];
                Some(Suggestion::replaced("", operand.index(), 1, with))
            }
            Program::Wc => {
                let counts = ["grep", "-rc", &include, "", directory];
                Some(Suggestion::words("to count the lines of each", counts))
            }
            Program::Cat | Program::Git | Program::Head | Program::Ls | Program::Tail => None,
        };
        same.into_iter().chain(listed(&operand.text)).collect()
    }
}

const STAY_INSIDE: &str = "write a path that stays inside; `ls` lists the workdir";
const WHAT_GIT_RECORDS: &str = "what it records: `git log`, `git branch -a`, `git status`";

/// Refuses a path for what is wrong with it as written. `at` is the word's place in the line, when it is a word.
pub(super) fn refuse_written(bad: &AsWritten, word: &str, workdir: Option<&AbsPath>, at: Option<usize>) -> Refusal {
    match bad {
        AsWritten::Absolute => {
            let message = format!("{} is an absolute path; paths are relative to the workdir", tick(word));
            let refusal = Refusal::about(DenialKind::PathAbsolute, word, message);
            match (hint::relative_to(workdir, word), at) {
                (Some(path), Some(at)) => refusal.suggest(vec![Suggestion::replaced("", at, 1, vec![path])]),
                (None, _) if let Some(workdir) = workdir => {
                    refusal.say(format!("nothing outside {} is read", show::on_one_line(workdir.as_str())))
                }
                (_, _) => refusal.say("write the path relative to the workdir"),
            }
        }
        AsWritten::Climbs => {
            let message = format!("{} climbs out of the workdir", tick(word));
            Refusal::about(DenialKind::PathOutside, word, message).say(STAY_INSIDE)
        }
        AsWritten::Git(name) => {
            let message = format!("{} is not part of what can be read: it holds the credential", tick(name));
            Refusal::about(DenialKind::PathGit, word, message).say(WHAT_GIT_RECORDS)
        }
        AsWritten::Empty | AsWritten::Fine => {
            Refusal::about(DenialKind::Operand, word, "an empty path names nothing".into()).say("`.` is the workdir")
        }
    }
}

/// What lists the files that a glob was meant to name.
fn listed(word: &str) -> Option<Suggestion> {
    let (include, directory) = hint::below(word)?;
    let list = hint::join(core::iter::once("ls").chain((directory != ".").then_some(directory)));
    let below = hint::join(["grep", "-rl", &include, "", directory]);
    Some(Suggestion::line(format!("list the directory: `{list}`; to find them below"), below))
}

/// The same line with each name of a list in braces written out.
pub(super) fn braced(word: &str, operand: &Operand) -> Vec<Suggestion> {
    let Some(range) = words::brace_list(word, |_| true) else { return Vec::new() };
    let (before, behind) = (word.get(..range.start).unwrap_or_default(), word.get(range.end..).unwrap_or_default());
    let inside = word.get(range.start + 1..range.end - 1).unwrap_or_default();
    if inside.contains("..") {
        return Vec::new();
    }
    let each = inside.split(',').map(|part| format!("{before}{part}{behind}")).collect();
    vec![Suggestion::replaced("", operand.index(), 1, each)]
}

/// The most words that Owl adds to leave out git data.
const LEFT_OUT_WORDS: usize = 64;
/// And the most bytes in them.
const LEFT_OUT_BYTES: usize = 8 * 1024;

/// Makes Owl's words for git data below a tree that `.[gG][iI][tT]` does not match, each name once.
fn left_out(matched: &Matched, hidden: &[&Hidden]) -> Result<Vec<Given>, Refusal> {
    let mut words: Vec<String> = Vec::new();
    for hidden in hidden {
        let name = hidden.name();
        if name.eq_ignore_ascii_case(b".git") {
            continue;
        }
        let glob = escaped(name);
        match matched.rule.program {
            Program::Grep => {
                words.push(format!("--exclude-dir={glob}"));
                // A spelling of `.git` may be a file, as a worktree's is.
                if spells_dot_git(name) {
                    words.push(format!("--exclude={glob}"));
                }
            }
            Program::Ls => words.push(format!("--ignore={glob}")),
            Program::Cat | Program::Git | Program::Head | Program::Tail | Program::Wc => {}
        }
    }
    words.sort_unstable();
    words.dedup();
    // They are shown, stored and run with the line, so a tree that anybody may have made must not decide their number.
    if words.len() > LEFT_OUT_WORDS || words.iter().map(String::len).sum::<usize>() > LEFT_OUT_BYTES {
        let message = "more git directories lie below than are left out one by one";
        return Err(Refusal::whole(DenialKind::Operand, message).say("name a subdirectory"));
    }
    words.into_iter().map(|word| owls_option(matched.rule, word)).collect()
}

/// Writes a name as a glob that matches it: signs escaped, and one `?` for each byte that is no text.
fn escaped(name: &[u8]) -> String {
    let mut glob = String::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\') {
                glob.push('\\');
            }
            glob.push(c);
        }
        glob.extend(chunk.invalid().iter().map(|_| '?'));
    }
    glob
}

/// Returns what the program may reach, for the kernel's rules.
pub(super) fn reached(matched: &Matched, located: &Located) -> Vec<Reached> {
    let program = matched.rule.program;
    let mut reached: Vec<Reached> = Vec::new();
    for operand in &matched.operands {
        let place = operand.look.and_then(|look| located.places.get(look));
        if let Some(Place::Inside(found)) = place
            && let Some(access) = access(program, matched.recurses, found)
        {
            reached.push(Reached { handle: found.handle.clone(), access });
        }
    }
    // `ls` alone lists the workdir.
    if program == Program::Ls && matched.operands.is_empty() {
        reached.push(Reached { handle: located.root.clone(), access: Access::List });
    }
    reached
}

fn access(program: Program, recurses: bool, found: &Found) -> Option<Access> {
    let hidden = || match &found.below {
        Below::Hidden(hidden) => hidden.clone(),
        Below::NotAsked | Below::Shared(_) | Below::TooMany => Vec::new(),
    };
    match (found.kind, program) {
        (FileKind::Directory, Program::Ls) if recurses => Some(Access::ListTree(hidden())),
        (FileKind::Directory, Program::Grep) if recurses => Some(Access::ReadTree(hidden())),
        (FileKind::Directory, _) => Some(Access::List),
        // To name a file is not to read it.
        (FileKind::File, Program::Ls) => None,
        (FileKind::File, _) => Some(Access::ReadFile),
        (FileKind::Fifo | FileKind::Socket | FileKind::Device, _) => None,
    }
}

/// Refuses what only Owl may leave out, where the model wrote it and Owl does not.
pub(super) fn refuse_others(matched: &Matched, left_out: &[Given]) -> Result<(), Refusal> {
    let others = matched.options.iter().find(|given| {
        matches!(given.by, By::Model(_))
            && given.opt.stands == super::rule::Stands::OwlsOwn
            && !left_out.iter().any(|owls| owls.opt.names == given.opt.names && owls.value == given.value)
    });
    match others {
        Some(given) => {
            let at = if let By::Model(index) = given.by { index } else { 0 };
            Err(super::unfit::owls_own(matched.rule, given, &given.spelled(), at))
        }
        None => Ok(()),
    }
}
