//! The only doors of the gate, in the order in which they are gone through: [`check`], [`propose`], [`clear`]
//! (ADR-0022, D11).

use super::{
    Cleared, Confinement, Denial, DenialKind, Program, Reach, Sandbox, Shown, Verb, argv, confine, digest,
    environment::{environment, git_environment},
    hint::Refusal,
    matcher::{self, Matched},
    operands::Role,
    shell, unfit, words,
};
use crate::{
    ports::{GitHome, LocateError, Located, Look, RepositoryError, Wall},
    project::Workdir,
    text::AbsPath,
};
use alloc::{
    format,
    string::{String, ToString as _},
};

/// A line whose words match one row of the table. Where its paths lead is not known yet.
#[derive(Debug)]
pub struct Checked {
    line: String,
    matched: Matched,
}

/// Facts of one pass, gathered through the ports by the caller.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Where the command is to run.
    pub workdir: Workdir,
    /// Where the program was found at start.
    pub program: Option<AbsPath>,
    /// Which of the kernel's guards there are.
    pub wall: Wall,
    /// Where the words of [`Checked::looks`] lead.
    pub located: Located,
    /// What git is given in place of the repository's configuration; only for git.
    pub git: Option<GitHome>,
}

/// Matches a line against the table. Pure; it says what has to be looked up before a verdict.
///
/// # Errors
/// [`Denial`]: nothing about the line needs to be looked up to refuse it.
pub fn check(line: &str) -> Result<Checked, Denial> {
    judge(line, None).map_err(|refusal| refusal.into_denial(line))
}

/// Does the same and knows where the line would run, so that the hint for an absolute path can name the relative one.
///
/// # Errors
/// As [`check`], with the same verdict.
pub fn check_in(line: &str, workdir: &AbsPath) -> Result<Checked, Denial> {
    judge(line, Some(workdir)).map_err(|refusal| refusal.into_denial(line))
}

/// Does the same without a hint.
pub(super) fn judge(line: &str, workdir: Option<&AbsPath>) -> Result<Checked, Refusal> {
    let words = words::read(line).map_err(|fault| shell::refuse(&fault, line, workdir))?;
    let matched = matcher::typed(words, workdir)?;
    Ok(Checked { line: line.into(), matched })
}

impl Checked {
    /// Returns which program it is.
    pub fn program(&self) -> Program {
        self.matched.rule.program
    }

    /// Returns which verb, for git.
    pub fn verb(&self) -> Option<Verb> {
        self.matched.rule.verb
    }

    /// Returns what has to be looked up, from the workdir's root.
    pub fn looks(&self) -> &[Look] {
        &self.matched.looks
    }

    /// Says whether the program is git, which needs a [`GitHome`].
    pub fn needs_git(&self) -> bool {
        self.program() == Program::Git
    }

    /// Says whether a path holds what a shell would have read, so that it passes only where something is called so.
    pub(super) fn names_a_sign(&self) -> bool {
        self.matched.operands.iter().any(|operand| match operand.role {
            Role::Path | Role::InValue => words::shell_sign(&operand.text).is_some(),
            Role::Pathspec | Role::RevisionOrPath | Role::PathIfThere => operand.bare_braces,
            Role::Revision | Role::Start | Role::Workdir => false,
        })
    }

    /// Says whether every word that may be a path is one for sure, and none stands inside a value.
    pub(super) fn is_plain(&self) -> bool {
        self.matched.operands.iter().all(|operand| {
            matches!(operand.role, Role::Path | Role::Pathspec | Role::Workdir | Role::Start | Role::Revision)
        })
    }

    /// Returns the words that are paths and nothing else.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let is_path = |role: Role| matches!(role, Role::Path | Role::Pathspec | Role::PathIfThere);
        self.matched.operands.iter().filter(move |operand| is_path(operand.role)).map(|operand| operand.text.as_str())
    }
}

/// Judges where everything leads and rebuilds the command: what is shown is what runs (D9).
///
/// # Errors
/// [`Denial`] with the first kind that applies.
pub fn propose(checked: Checked, facts: &Facts) -> Result<Shown, Denial> {
    shown(&checked, facts).map_err(|refusal| refusal.into_denial(&checked.line))
}

fn shown(checked: &Checked, facts: &Facts) -> Result<Shown, Refusal> {
    let Checked { line, matched } = checked;
    let confined = confine::confine(matched, &facts.located)?;
    confine::refuse_others(matched, &confined.left_out)?;
    let program = checked.program();
    let Some(path) = facts.program.clone() else {
        let message = format!("{} was not found in a trusted directory", program.name());
        return Err(Refusal::about(DenialKind::NotInstalled, program.name(), message));
    };
    if facts.wall.sandbox == Sandbox::Required && facts.wall.confinement != Confinement::Both {
        let missing = facts.wall.missing.join(", ");
        let message = format!("the configuration says `sandbox: required`, and this kernel lacks {missing}");
        return Err(Refusal::whole(DenialKind::Sandbox, message));
    }
    let env = match (program, &facts.git) {
        (Program::Git, Some(home)) => {
            unfit::in_worktree(matched, home)?;
            git_environment(home)
        }
        (Program::Git, None) => {
            return Err(Refusal::whole(DenialKind::Workdir, "the repository could not be looked at"));
        }
        (Program::Cat | Program::Grep | Program::Head | Program::Ls | Program::Tail | Program::Wc, _) => environment(),
    };
    let argv::Argv { words: argv, added } = argv::rebuild(matched, &confined);
    let workdir = facts.workdir.path().clone();
    let digest = digest(&path, &workdir, &argv, &added, &env);
    Ok(Shown {
        requested: line.clone(),
        program,
        verb: checked.verb(),
        path,
        argv,
        added,
        env,
        workdir,
        confinement: facts.wall.confinement,
        digest,
    })
}

/// Runs the whole gate again on the line that was proposed, with fresh facts. What passes is what was shown, or
/// nothing: its digest is compared. The caller goes through [`check`] with `shown.requested` first, to know what to
/// look up.
///
/// # Errors
/// [`Denial`] with its own kind when something forbids it now; [`DenialKind::Changed`] when nothing does and it would
/// run otherwise than it was shown.
pub fn clear(shown: &Shown, facts: Facts) -> Result<Cleared, Denial> {
    let checked = check_in(&shown.requested, facts.workdir.path())?;
    let fresh = self::shown(&checked, &facts).map_err(|refusal| refusal.into_denial(&checked.line))?;
    if fresh.digest != shown.digest {
        return Err(changed(shown, &fresh));
    }
    let reach = match facts.git {
        Some(home) if checked.needs_git() => Reach::Git(home),
        Some(_) | None => Reach::Operands(confine::reached(&checked.matched, &facts.located)),
    };
    Ok(Cleared { shown: fresh, workdir: facts.workdir, root: facts.located.root, reach })
}

fn changed(shown: &Shown, fresh: &Shown) -> Denial {
    let what = if shown.path != fresh.path {
        "the program is another one"
    } else if shown.workdir != fresh.workdir {
        "the directory is another one"
    } else if shown.argv != fresh.argv || shown.added != fresh.added {
        "its arguments would be others"
    } else if shown.env != fresh.env {
        "its environment would be another"
    } else {
        "its digest is another"
    };
    let message = format!("it would run otherwise than it was shown: {what}");
    Denial::whole(DenialKind::Changed, message).instead("propose it again")
}

impl Denial {
    /// Says that the workdir is not, or no longer, what it was.
    pub fn from_locate(error: &LocateError) -> Self {
        Self::whole(DenialKind::Workdir, crate::show::on_one_line(&error.to_string()))
    }

    /// Says that the repository is not as it was registered, or borrows.
    pub fn from_repository(error: &RepositoryError) -> Self {
        Self::whole(DenialKind::Workdir, crate::show::on_one_line(&error.to_string()))
    }
}
