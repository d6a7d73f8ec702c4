//! Every command the chat may run, one row per program and verb. What is not here is denied (ADR-0022, D11).
//!
//! Nothing else is in this file, and nothing loads or widens it at run time. What is left out on purpose, and why, is
//! in `refused.rs`.

use super::{
    Program, Verb,
    rule::{
        Group, Never, Operands, Rule, Value, among_revisions, attached, flag, maybe, next, or_head, owls_own, own,
        shared,
    },
};

use Value::{
    BlockSize, Choice, Count, CountFrom, Dirstat, Encoding, Filter, Format, Glob, Include, Lines, Number, Path,
    RefFormat, Revision, Score, Scores, SortKey, Text, TimeStyle, Widths,
};

const WHEN: Value = Choice(&["always", "never", "auto"]);

/// `git log`, `show` and `diff`: how differences are found and printed.
#[rustfmt::skip]
const DIFFERENCES: Group = shared("differences", &[
    flag(&["-p", "-u", "--patch"]), flag(&["-s", "--no-patch"]), flag(&["--raw"]), flag(&["--patch-with-stat"]),
    flag(&["--numstat"]), flag(&["--shortstat"]), flag(&["--summary"]), flag(&["--compact-summary"]),
    flag(&["--name-only"]), flag(&["--name-status"]), flag(&["--check"]), flag(&["--exit-code"]), flag(&["--quiet"]),
    flag(&["-z"]), flag(&["--no-color"]), flag(&["--full-index"]), flag(&["--no-prefix"]), flag(&["-R"]),
    flag(&["-W", "--function-context"]), flag(&["-a", "--text"]), flag(&["-D", "--irreversible-delete"]),
    flag(&["-w", "--ignore-all-space"]), flag(&["-b", "--ignore-space-change"]), flag(&["--ignore-space-at-eol"]),
    flag(&["--ignore-cr-at-eol"]), flag(&["--ignore-blank-lines"]), flag(&["--minimal"]), flag(&["--patience"]),
    flag(&["--histogram"]), flag(&["--indent-heuristic"]), flag(&["--no-indent-heuristic"]), flag(&["--no-renames"]),
    flag(&["--find-copies-harder"]), flag(&["--pickaxe-all"]), flag(&["--pickaxe-regex"]), flag(&["--no-relative"]),
    attached(&["-U", "--unified"], Number), maybe(&["--stat"], Widths), maybe(&["--dirstat"], Dirstat),
    maybe(&["--color"], WHEN), maybe(&["--color-words"], Text), maybe(&["--abbrev"], Number),
    maybe(&["--word-diff"], Choice(&["color", "plain", "porcelain", "none"])),
    maybe(&["--color-moved"], Choice(&["no", "default", "plain", "blocks", "zebra", "dimmed-zebra"])),
    maybe(&["-M", "--find-renames"], Score), maybe(&["-C", "--find-copies"], Score),
    maybe(&["-B", "--break-rewrites"], Scores), maybe(&["--relative"], Path),
    next(&["-S"], Text), next(&["-G"], Text), next(&["-I", "--ignore-matching-lines"], Text), next(&["--anchored"], Text),
    next(&["--word-diff-regex"], Text), next(&["--src-prefix"], Text), next(&["--dst-prefix"], Text),
    next(&["--line-prefix"], Text), next(&["-l"], Number), next(&["--inter-hunk-context"], Number),
    next(&["--diff-algorithm"], Choice(&["myers", "minimal", "patience", "histogram", "default"])),
    next(&["--diff-filter"], Filter),
]);

/// `git log` and `show`: which commits, and how each is printed.
#[rustfmt::skip]
const HISTORY: Group = shared("history", &[
    flag(&["--all-match"]), flag(&["--invert-grep"]), flag(&["-i", "--regexp-ignore-case"]),
    flag(&["-E", "--extended-regexp"]), flag(&["-F", "--fixed-strings"]), flag(&["-P", "--perl-regexp"]),
    flag(&["--merges"]), flag(&["--no-merges"]), flag(&["--first-parent"]), flag(&["--reverse"]), flag(&["--follow"]),
    flag(&["--left-right"]), flag(&["--left-only"]), flag(&["--right-only"]), flag(&["--cherry-pick"]),
    flag(&["--cherry-mark"]), flag(&["--cherry"]), flag(&["--boundary"]), flag(&["--date-order"]),
    flag(&["--topo-order"]), flag(&["--author-date-order"]), flag(&["--simplify-by-decoration"]),
    flag(&["--full-history"]), flag(&["--full-diff"]), among_revisions(flag(&["-g", "--walk-reflogs"])), flag(&["--no-decorate"]),
    flag(&["--source"]), flag(&["--parents"]), flag(&["--children"]), flag(&["--no-notes"]),
    flag(&["--mailmap", "--use-mailmap"]), flag(&["--no-mailmap"]), flag(&["-c"]), flag(&["--cc"]), flag(&["-m"]),
    flag(&["--oneline"]), flag(&["--graph"]), flag(&["--abbrev-commit"]), flag(&["--no-abbrev-commit"]),
    flag(&["--relative-date"]),
    maybe(&["--pretty"], Format), attached(&["--format"], Format),
    maybe(&["--decorate"], Choice(&["short", "full", "auto", "no"])), maybe(&["--notes"], Revision),
    maybe(&["--ancestry-path"], Revision), among_revisions(maybe(&["--no-walk"], Choice(&["sorted", "unsorted"]))),
    next(&["-n", "--max-count"], Number), next(&["--skip"], Number), next(&["--since", "--after"], Text),
    next(&["--until", "--before"], Text), next(&["--author"], Text), next(&["--committer"], Text),
    next(&["--grep"], Text), next(&["--date"], Text), next(&["--encoding"], Encoding), next(&["--decorate-refs"], Glob),
    // Not `on`, `remerge` or `r`: those write objects and may start a merge driver.
    next(&["--diff-merges"], Choice(&["off", "none", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc"])),
    next(&["-L"], Lines),
]);

/// `git log` and `show`: what starts the walk, beside names. Their place among the names counts.
#[rustfmt::skip]
const STARTS: Group = shared("starts", &[
    among_revisions(flag(&["--all"])), among_revisions(flag(&["--not"])), among_revisions(maybe(&["--branches"], Glob)),
    among_revisions(maybe(&["--tags"], Glob)), among_revisions(maybe(&["--remotes"], Glob)),
    among_revisions(next(&["--glob"], Glob)), among_revisions(next(&["--exclude"], Glob)),
]);

const STAGED: Group = own(&[flag(&["--cached", "--staged"]), flag(&["--merge-base"])]);

#[rustfmt::skip]
const STATUS: Group = own(&[
    flag(&["-s", "--short"]), flag(&["-b", "--branch"]), flag(&["--long"]), flag(&["--show-stash"]),
    flag(&["--ahead-behind"]), flag(&["--no-ahead-behind"]), flag(&["--renames"]), flag(&["--no-renames"]),
    flag(&["-z", "--null"]), maybe(&["--porcelain"], Choice(&["v1", "v2"])),
    maybe(&["-u", "--untracked-files"], Choice(&["no", "normal", "all"])),
    maybe(&["--ignored"], Choice(&["traditional", "no", "matching"])), maybe(&["-M", "--find-renames"], Score),
]);

#[rustfmt::skip]
const BRANCHES: Group = own(&[
    flag(&["-a", "--all"]), flag(&["-r", "--remotes"]), flag(&["-l", "--list"]), flag(&["-v", "--verbose"]),
    flag(&["--show-current"]), flag(&["-i", "--ignore-case"]), flag(&["--omit-empty"]), flag(&["--no-color"]),
    flag(&["--no-abbrev"]), maybe(&["--color"], WHEN), maybe(&["--abbrev"], Number),
    or_head(&["--contains"], Revision), or_head(&["--no-contains"], Revision), or_head(&["--merged"], Revision),
    or_head(&["--no-merged"], Revision), next(&["--points-at"], Revision), next(&["--sort"], SortKey),
    next(&["--format"], RefFormat),
]);

/// What only Owl writes: no program, and no git inside a submodule, may be started by what is read.
#[rustfmt::skip]
const DISARMED: Group = own(&[
    owls_own(flag(&["--no-show-signature"])), owls_own(flag(&["--no-ext-diff"])), owls_own(flag(&["--no-textconv"])),
    owls_own(attached(&["--submodule"], Choice(&["short"]))),
    owls_own(attached(&["--ignore-submodules"], Choice(&["dirty"]))), owls_own(flag(&["--no-column"])),
]);

/// `git log` and `show`: no program that a repository names is started, and no git inside a submodule.
const NO_PROGRAM: &[&str] =
    &["--no-show-signature", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty"];

/// git takes the directory that stands in for the common one for another worktree, and would walk some logs twice.
const ALL_LOGS: Never = Never {
    one: &["-g", "--walk-reflogs"],
    with: &["--all"],
    why: "the log of HEAD would be told twice",
    instead: "name the logs: `git log -g HEAD --branches`",
};

/// `ls -R`: what only Owl writes, to leave out a git directory that goes by another name.
const LEFT_OUT: Group = own(&[owls_own(attached(&["--ignore"], Glob))]);

#[rustfmt::skip]
const CAT: Group = own(&[
    flag(&["-A", "--show-all"]), flag(&["-b", "--number-nonblank"]), flag(&["-e"]), flag(&["-E", "--show-ends"]),
    flag(&["-n", "--number"]), flag(&["-s", "--squeeze-blank"]), flag(&["-t"]), flag(&["-T", "--show-tabs"]),
    flag(&["-u"]), flag(&["-v", "--show-nonprinting"]),
]);

/// `head` and `tail`: how much of each file.
#[rustfmt::skip]
const PART: Group = shared("part", &[
    flag(&["-q", "--quiet", "--silent"]), flag(&["-v", "--verbose"]), flag(&["-z", "--zero-terminated"]),
]);
const FROM_START: Group = own(&[next(&["-n", "--lines"], Count), next(&["-c", "--bytes"], Count)]);
const FROM_END: Group = own(&[next(&["-n", "--lines"], CountFrom), next(&["-c", "--bytes"], CountFrom)]);

#[rustfmt::skip]
const COUNTS: Group = own(&[
    flag(&["-c", "--bytes"]), flag(&["-m", "--chars"]), flag(&["-l", "--lines"]), flag(&["-L", "--max-line-length"]),
    flag(&["-w", "--words"]),
]);

#[rustfmt::skip]
const LISTING: Group = own(&[
    flag(&["-1"]), flag(&["-a", "--all"]), flag(&["-A", "--almost-all"]), flag(&["-l"]), flag(&["-h", "--human-readable"]),
    flag(&["-t"]), flag(&["-r", "--reverse"]), flag(&["-S"]), flag(&["-R", "--recursive"]), flag(&["-d", "--directory"]),
    flag(&["-p"]), flag(&["-F"]), flag(&["-i", "--inode"]), flag(&["-s", "--size"]), flag(&["-n", "--numeric-uid-gid"]),
    flag(&["-o"]), flag(&["-g"]), flag(&["-x"]), flag(&["-C"]), flag(&["-m"]), flag(&["-Q", "--quote-name"]),
    flag(&["-q", "--hide-control-chars"]), flag(&["-X"]), flag(&["-v"]), flag(&["-U"]), flag(&["-c"]), flag(&["-u"]),
    flag(&["-k", "--kibibytes"]), flag(&["-G", "--no-group"]), flag(&["-N", "--literal"]), flag(&["-b", "--escape"]),
    flag(&["--file-type"]), flag(&["--full-time"]), flag(&["--group-directories-first"]),
    maybe(&["--color"], WHEN), maybe(&["--classify"], WHEN),
    next(&["--sort"], Choice(&["none", "name", "size", "time", "version", "extension", "width"])),
    next(&["--time"], Choice(&["atime", "ctime", "mtime", "birth"])), next(&["--time-style"], TimeStyle),
    next(&["--format"], Choice(&["across", "commas", "horizontal", "long", "single-column", "verbose", "vertical"])),
    next(&["--block-size"], BlockSize),
]);

#[rustfmt::skip]
const SEARCH: Group = own(&[
    flag(&["-n", "--line-number"]), flag(&["-i", "--ignore-case"]), flag(&["--no-ignore-case"]),
    flag(&["-r", "--recursive"]), flag(&["-l", "--files-with-matches"]), flag(&["-L", "--files-without-match"]),
    flag(&["-c", "--count"]), flag(&["-v", "--invert-match"]), flag(&["-w", "--word-regexp"]),
    flag(&["-x", "--line-regexp"]), flag(&["-o", "--only-matching"]), flag(&["-h", "--no-filename"]),
    flag(&["-H", "--with-filename"]), flag(&["-s", "--no-messages"]), flag(&["-q", "--quiet", "--silent"]),
    flag(&["-a", "--text"]), flag(&["-I"]), flag(&["-b", "--byte-offset"]), flag(&["-z", "--null-data"]),
    flag(&["-Z", "--null"]), flag(&["-T", "--initial-tab"]), flag(&["-E", "--extended-regexp"]),
    flag(&["-F", "--fixed-strings"]), flag(&["-G", "--basic-regexp"]), flag(&["-P", "--perl-regexp"]),
    maybe(&["--color", "--colour"], WHEN), next(&["-e", "--regexp"], Text), next(&["-A", "--after-context"], Number),
    next(&["-B", "--before-context"], Number), next(&["-C", "--context"], Number), next(&["-m", "--max-count"], Number),
    next(&["--include"], Include), next(&["--exclude"], Glob), next(&["--exclude-dir"], Glob),
]);

pub(super) const POLICY: &[Rule] = &[
    Rule {
        program: Program::Cat,
        verb: None,
        adds: &[],
        adds_behind: &[],
        options: &[CAT],
        number: None,
        never: None,
        operands: Operands::Paths,
        because: "prints files; without one it would read standard input",
        allows: &["cat README.md", "cat -n src/main.rs", "cat src/../README.md -A"],
        denies: &["cat", "cat -", "cat --number-all README.md", "cat /etc/hosts", "cat .git/config"],
    },
    Rule {
        program: Program::Head,
        verb: None,
        adds: &[],
        adds_behind: &[],
        options: &[PART, FROM_START],
        number: Some("-n"),
        never: None,
        operands: Operands::Paths,
        because: "prints the start of files; without one it would read standard input",
        allows: &["head README.md", "head -n 40 README.md", "head -5 -q README.md Cargo.toml"],
        denies: &["head", "head -n x README.md", "head --l=1 README.md", "head ../README.md"],
    },
    Rule {
        program: Program::Tail,
        verb: None,
        adds: &[],
        adds_behind: &[],
        options: &[PART, FROM_END],
        number: Some("-n"),
        never: None,
        operands: Operands::Paths,
        because: "prints the end of files; it may not follow one, for that never ends",
        allows: &["tail CHANGELOG.md", "tail -n +20 CHANGELOG.md", "tail --bytes=1K CHANGELOG.md"],
        denies: &["tail", "tail -f CHANGELOG.md", "tail -5f CHANGELOG.md", "tail --fol CHANGELOG.md"],
    },
    Rule {
        program: Program::Wc,
        verb: None,
        adds: &[],
        adds_behind: &[],
        options: &[COUNTS],
        number: None,
        never: None,
        operands: Operands::Paths,
        because: "counts; the files are named on the line, never read from a list",
        allows: &["wc -l README.md Cargo.toml", "wc -cmw README.md"],
        denies: &["wc -l", "wc --files0-from=README.md", "wc --lin README.md"],
    },
    Rule {
        program: Program::Ls,
        verb: None,
        adds: &[],
        adds_behind: &[],
        options: &[LISTING, LEFT_OUT],
        number: None,
        never: Some(Never {
            one: &["-R", "--recursive"],
            with: &["-a", "--all", "-A", "--almost-all"],
            why: "recursion with hidden names would list the inside of `.git`",
            instead: "`ls -R`, or `ls -a` of one directory",
        }),
        operands: Operands::PathsOrWorkdir,
        because: "lists directories; it never looks through links, and recursion leaves hidden names out",
        allows: &["ls", "ls -la src", "ls -R", "ls --sort=time docs"],
        denies: &["ls -L", "ls -aR", "ls --hyperlink", "ls ..", "ls -d .git"],
    },
    Rule {
        program: Program::Grep,
        verb: None,
        adds: &["--exclude-dir=.git"],
        // The last match wins, so these stand behind whatever the model includes; they know every case, and files.
        adds_behind: &["--exclude-dir=.[gG][iI][tT]", "--exclude=.[gG][iI][tT]"],
        options: &[SEARCH],
        number: Some("-C"),
        never: None,
        operands: Operands::PatternThenPaths,
        because: "searches files; -r leaves the links it meets alone, and no list of patterns is read from a file",
        allows: &[
            "grep -rn TODO src",
            "grep -rE 'a|b'",
            "grep -e fn -e struct src/lib.rs",
            "grep -2 retries src/lib.rs",
        ],
        denies: &["grep TODO", "grep -R TODO .", "grep -f README.md src/lib.rs", "grep -rn x --include=.git ."],
    },
    Rule {
        program: Program::Git,
        verb: Some(Verb::Status),
        adds: &["--ignore-submodules=dirty"],
        adds_behind: &[],
        options: &[DISARMED, STATUS],
        number: None,
        never: None,
        operands: Operands::PathPatterns,
        because: "tells what has changed; -v would print a diff through the repository's own programs",
        allows: &["git status", "git status -sb", "git status --porcelain=v2 -- src"],
        denies: &["git status -v", "git status --ignore-submodules=none", "git status --help"],
    },
    Rule {
        program: Program::Git,
        verb: Some(Verb::Log),
        adds: NO_PROGRAM,
        adds_behind: &[],
        options: &[DISARMED, DIFFERENCES, HISTORY, STARTS],
        number: Some("-n"),
        never: Some(ALL_LOGS),
        operands: Operands::RevisionsThenPaths,
        because: "reads history; the repository's own programs stay out",
        allows: &["git log --oneline -20", "git log -p main..feature/x -- src", "git log --all --not main"],
        denies: &["git log --output=x", "git log --format=%G?", "git log -g --all", "git log -- ../x"],
    },
    Rule {
        program: Program::Git,
        verb: Some(Verb::Diff),
        // Where git takes the directory for no repository it would compare any two paths by itself, as with `--no-index`:
        // it knows no option of a log then, and ends.
        adds: NO_PROGRAM,
        adds_behind: &[],
        options: &[DISARMED, DIFFERENCES, STAGED],
        number: None,
        never: None,
        operands: Operands::RevisionsThenPaths,
        because: "tells what differs inside the repository; --no-index would compare any two files",
        allows: &["git diff", "git diff --cached --stat", "git diff main...HEAD -U0 -- src"],
        denies: &["git diff --no-index a b", "git diff --ext-diff", "git diff README.md ../README.md"],
    },
    Rule {
        program: Program::Git,
        verb: Some(Verb::Show),
        adds: NO_PROGRAM,
        adds_behind: &[],
        options: &[DISARMED, DIFFERENCES, HISTORY, STARTS],
        number: Some("-n"),
        never: Some(ALL_LOGS),
        operands: Operands::RevisionsThenPaths,
        because: "shows one commit, or a file as it was",
        allows: &["git show", "git show HEAD~2:src/lib.rs", "git show -s --format=%B HEAD"],
        denies: &[
            "git show --show-signature",
            "git show --remerge-diff",
            "git show HEAD:../x",
            "git show HEAD:.git/config",
        ],
    },
    Rule {
        program: Program::Git,
        verb: Some(Verb::Branch),
        // `--list` turns a name into a filter, were one ever let through.
        adds: &["--list", "--no-column"],
        adds_behind: &[],
        options: &[DISARMED, BRANCHES],
        number: None,
        never: None,
        operands: Operands::Nothing,
        because: "lists branches; with a name after it, it would create one",
        allows: &["git branch -a", "git branch -vv", "git branch --merged main", "git branch --show-current"],
        denies: &["git branch topic", "git branch -D main", "git branch -a topic", "git branch --edit-description"],
    },
];
