//! What is left out of the table on purpose, and why: a refusal that gives its reason is not repeated (D11).
//!
//! Nothing here permits or forbids anything. What is in neither file is denied all the same.

use super::{Program, Verb, rule::Rule};

/// Options that are denied for one reason.
pub(super) struct Refused {
    of: Of,
    names: &'static [&'static str],
    /// The reason, as the rest of a sentence that begins with the option.
    pub(super) why: &'static str,
    /// What to write in its place.
    pub(super) instead: Instead,
}

/// Whose options they are.
enum Of {
    Program(Program),
    Verbs(&'static [Verb]),
}

/// What to write in an option's place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instead {
    /// Leave it out.
    LeaveOut,
    /// Leave it out, and the value that follows it; these words say so.
    LeaveOutValue(&'static str),
    /// These words.
    These(&'static [&'static str]),
    /// Something else, in words.
    Say(&'static str),
    /// Nothing.
    Nothing,
}

use Instead::{LeaveOut, LeaveOutValue, Nothing, Say, These};
use Of::{Program as In, Verbs};

const DIFFS: Of = Verbs(&[Verb::Diff, Verb::Log, Verb::Show]);
const WALKS: Of = Verbs(&[Verb::Log, Verb::Show]);

#[rustfmt::skip]
pub(super) const REFUSED: &[Refused] = &[
    Refused { of: In(Program::Git), names: &["--help", "-h"],
              why: "opens a manual viewer, which a repository may name", instead: Nothing },
    Refused { of: In(Program::Git), names: &["--paginate", "-p"],
              why: "starts a pager", instead: LeaveOut },
    Refused { of: DIFFS, names: &["--output"],
              why: "writes a file", instead: LeaveOutValue("leave it out, the output comes back") },
    Refused { of: DIFFS, names: &["--ext-diff", "--textconv"],
              why: "starts a program that the repository names", instead: LeaveOut },
    Refused { of: DIFFS, names: &["--no-index"],
              why: "compares any two files, also outside the repository",
              instead: Say("two files of a commit: `git diff HEAD:README.md HEAD:LICENSE`") },
    Refused { of: DIFFS, names: &["--stat-width"],
              why: "is written with its number behind `--stat`", instead: Say("`--stat=200`") },
    Refused { of: DIFFS, names: &["--color-moved-ws", "--ws-error-highlight", "--binary", "--cumulative"],
              why: "is not in the table", instead: LeaveOut },
    Refused { of: WALKS, names: &["-q", "--quiet"],
              why: "says little of its own", instead: These(&["-s"]) },
    Refused { of: WALKS, names: &["--min-parents"],
              why: "is not in the table", instead: Say("merges alone: `--merges`") },
    Refused { of: WALKS, names: &["--max-parents"],
              why: "is not in the table", instead: Say("all but merges: `--no-merges`; the first commit of all: `git log --reverse --oneline`") },
    Refused { of: WALKS, names: &["--merge"],
              why: "lists what a merge left in conflict", instead: Say("what is in conflict: `git diff`") },
    Refused { of: WALKS, names: &["--no-abbrev"],
              why: "is not in the table", instead: These(&["--no-abbrev-commit"]) },
    Refused { of: In(Program::Git), names: &["--no-pager"],
              why: "stands between git and its verb, where Owl puts it", instead: LeaveOut },
    Refused { of: DIFFS, names: &["-O"],
              why: "reads an order file", instead: LeaveOutValue("leave it out") },
    Refused { of: DIFFS, names: &["--stdin", "--pathspec-from-file"],
              why: "reads standard input or a list, and there is none", instead: Say("name revisions and paths on the line") },
    Refused { of: WALKS, names: &["--show-signature"],
              why: "starts a signature program", instead: LeaveOut },
    Refused { of: WALKS, names: &["--remerge-diff"],
              why: "writes objects and may start a merge driver", instead: These(&["--cc"]) },
    Refused { of: WALKS, names: &["--alternate-refs"],
              why: "starts a program that the repository names", instead: These(&["--all"]) },
    Refused { of: Verbs(&[Verb::Status]), names: &["-v", "--verbose"],
              why: "prints a diff through programs that the repository names", instead: Say("`git diff --cached`") },
    Refused { of: Verbs(&[Verb::Status]), names: &["--pathspec-from-file", "--stdin"],
              why: "reads a list", instead: Say("name the paths on the line") },
    Refused { of: Verbs(&[Verb::Branch]), names: &["-d", "-D", "--delete"],
              why: "deletes a branch, and nothing here writes", instead: Nothing },
    Refused { of: Verbs(&[Verb::Branch]), names: &["-m", "-M", "--move", "-c", "-C", "--copy"],
              why: "renames or copies a branch, and nothing here writes", instead: Nothing },
    Refused { of: Verbs(&[Verb::Branch]), names: &["-f", "--force", "--create-reflog", "--no-list", "--recurse-submodules"],
              why: "is for making a branch, and nothing here writes", instead: Nothing },
    Refused { of: Verbs(&[Verb::Branch]), names: &["-u", "--set-upstream-to", "--unset-upstream", "-t", "--track", "--no-track", "--set-upstream"],
              why: "writes the configuration", instead: Say("what the branch here follows: `git status -sb`") },
    Refused { of: Verbs(&[Verb::Branch]), names: &["--edit-description", "--edit"],
              why: "starts an editor and writes", instead: Nothing },
    Refused { of: Verbs(&[Verb::Branch]), names: &["-q", "--quiet"],
              why: "is for making or deleting a branch", instead: LeaveOut },
    Refused { of: In(Program::Grep), names: &["-f", "--file"],
              why: "reads patterns from a file and shows it by what matches", instead: Say("give each pattern with -e") },
    Refused { of: In(Program::Grep), names: &["--exclude-from"],
              why: "reads a list from a file", instead: Say("give each pattern with --exclude") },
    Refused { of: In(Program::Grep), names: &["-R", "--dereference-recursive"],
              why: "follows every link it meets", instead: These(&["-r"]) },
    Refused { of: In(Program::Grep), names: &["-d", "--directories"],
              why: "says how directories are read, and -r is the one way", instead: LeaveOutValue("leave it out") },
    Refused { of: In(Program::Grep), names: &["-D", "--devices"],
              why: "opens FIFOs and devices", instead: LeaveOutValue("leave it out") },
    Refused { of: In(Program::Grep), names: &["--binary-files"],
              why: "is not in the table", instead: Say("to read them as text: `-a`; to pass over them: `-I`") },
    Refused { of: In(Program::Grep), names: &["-y"],
              why: "is an old name", instead: These(&["-i"]) },
    Refused { of: In(Program::Grep), names: &["-U", "--binary", "--line-buffered", "--no-group-separator"],
              why: "is not in the table", instead: LeaveOut },
    Refused { of: In(Program::Wc), names: &["--files0-from"],
              why: "reads a list of files, and its errors print what is in it", instead: Say("name the files on the line") },
    Refused { of: In(Program::Tail), names: &["-f", "-F", "--follow", "--retry"],
              why: "never ends", instead: These(&["-n", "50"]) },
    Refused { of: In(Program::Tail), names: &["--pid", "-s", "--sleep-interval", "--max-unchanged-stats"],
              why: "is for following a file, and that never ends", instead: LeaveOutValue("leave it out") },
    Refused { of: In(Program::Tail), names: &["---disable-inotify", "---presume-input-pipe"],
              why: "is for tests of tail itself", instead: LeaveOut },
    Refused { of: In(Program::Ls), names: &["-L", "-H", "--dereference", "--dereference-command-line", "--dereference-command-line-symlink-to-dir"],
              why: "looks through links", instead: LeaveOut },
    Refused { of: In(Program::Ls), names: &["-f"],
              why: "lists hidden names unsorted, whatever else is said", instead: These(&["-a", "-U"]) },
    Refused { of: In(Program::Ls), names: &["--si"],
              why: "is not in the table", instead: These(&["-h"]) },
    Refused { of: In(Program::Ls), names: &["--hide", "-w", "--width"],
              why: "is not in the table", instead: LeaveOutValue("leave it out") },
    Refused { of: In(Program::Ls), names: &["-B", "--ignore-backups"],
              why: "is not in the table", instead: LeaveOut },
    Refused { of: In(Program::Ls), names: &["--hyperlink"],
              why: "prints absolute paths", instead: LeaveOut },
];

/// Finds the reason for which an option of that exact name is denied.
pub(super) fn reason(rule: &Rule, name: &str) -> Option<&'static Refused> {
    let concerns = |of: &Of| match of {
        In(program) => rule.program == *program,
        Verbs(verbs) => rule.verb.is_some_and(|verb| verbs.contains(&verb)),
    };
    REFUSED.iter().find(|refused| concerns(&refused.of) && refused.names.contains(&name))
}
