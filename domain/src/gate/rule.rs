//! The words that the table is written in. Nothing here knows a program; nothing here judges (ADR-0022, D11).

use super::{Program, Verb};
use alloc::{format, string::String};

/// One row: a program, or one verb of git, and all that it may be given.
#[derive(Debug)]
pub struct Rule {
    /// The program.
    pub program: Program,
    /// The verb, for git.
    pub verb: Option<Verb>,
    /// What Owl puts in before the model's words.
    pub(super) adds: &'static [&'static str],
    /// What Owl puts in behind the model's options, where the last one wins.
    pub(super) adds_behind: &'static [&'static str],
    /// The options, in named groups.
    pub(super) options: &'static [Group],
    /// The option that a bare `-5` stands for.
    pub(super) number: Option<&'static str>,
    /// Options that are each permitted and never together.
    pub(super) never: Option<Never>,
    /// What its operands are.
    pub operands: Operands,
    /// Why it is on the list, and where its edge is.
    pub because: &'static str,
    /// Lines that are allowed where their paths lead inside.
    pub allows: &'static [&'static str],
    /// Lines that are denied.
    pub denies: &'static [&'static str],
}

/// Options of one row that may not stand on one line.
#[derive(Debug)]
pub(super) struct Never {
    pub(super) one: &'static [&'static str],
    pub(super) with: &'static [&'static str],
    pub(super) why: &'static str,
    /// What to write instead.
    pub(super) instead: &'static str,
}

/// Options that belong together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The name of a group that several rows hold; empty for a row's own.
    pub(super) name: &'static str,
    pub(super) options: &'static [Opt],
}

/// One option: its names, which are all the same to the program, and what follows them.
#[derive(Debug, PartialEq, Eq)]
pub struct Opt {
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    pub(super) stands: Stands,
}

/// What follows an option's name. To take one for another would let a second option pass as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A value, attached.
    Attached(Value),
    /// A value, attached, or nothing.
    Maybe(Value),
    /// A value: the next word, or attached.
    Next(Value),
    /// A value: the next word, or attached; `HEAD` when it is the last word.
    NextOrHead(Value),
}

/// Where an option stands in the rebuilt line, and who may write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// Among the options.
    WithOptions,
    /// Among the revisions, in its place: what it means depends on what stands before it.
    WithRevisions,
    /// Only Owl writes it; an exact copy of what Owl writes is dropped.
    OwlsOwn,
}

/// The type of a value. The list is closed, and there is no "any".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Text that nothing interprets: a pattern, an author, a date.
    Text,
    /// Digits.
    Number,
    /// Digits with a size suffix; `-` may stand in front.
    Count,
    /// The same; `+` may stand in front too.
    CountFrom,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A pattern for file names, or for refs. Not a path.
    Glob,
    /// The same, where it says what is read: it may not be a spelling of `.git`.
    Include,
    /// A path below the workdir.
    Path,
    /// One revision.
    Revision,
    /// How `git log` prints a commit; each placeholder is known.
    Format,
    /// How `git branch` prints a branch; each field is known.
    RefFormat,
    /// What `git branch` sorts by; the field is known.
    SortKey,
    /// `START,END:FILE` or `:NAME:FILE`.
    Lines,
    /// A similarity: digits, `%` may follow.
    Score,
    /// One similarity, or two with `/` between.
    Scores,
    /// Up to three numbers with commas between.
    Widths,
    /// Words and numbers of `--dirstat` with commas between.
    Dirstat,
    /// Letters of `--diff-filter`.
    Filter,
    /// The name of an encoding.
    Encoding,
    /// A size as `ls` takes it.
    BlockSize,
    /// A style of `ls`, or `+` and a format of dates.
    TimeStyle,
}

/// What the words are that are not options. It decides what is a path, and therefore looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// One path or more: without one the program would read standard input.
    Paths,
    /// Paths; without one it is the workdir.
    PathsOrWorkdir,
    /// A pattern, unless an option gave one, then paths; without a path the workdir, if it recurses.
    PatternThenPaths,
    /// Revisions, then git's own path patterns.
    RevisionsThenPaths,
    /// git's own path patterns.
    PathPatterns,
    /// Nothing at all.
    Nothing,
}

pub(super) const fn own(options: &'static [Opt]) -> Group {
    Group { name: "", options }
}

pub(super) const fn shared(name: &'static str, options: &'static [Opt]) -> Group {
    Group { name, options }
}

pub(super) const fn flag(names: &'static [&'static str]) -> Opt {
    Opt { names, takes: Takes::Nothing, stands: Stands::WithOptions }
}

pub(super) const fn attached(names: &'static [&'static str], value: Value) -> Opt {
    Opt { names, takes: Takes::Attached(value), stands: Stands::WithOptions }
}

pub(super) const fn maybe(names: &'static [&'static str], value: Value) -> Opt {
    Opt { names, takes: Takes::Maybe(value), stands: Stands::WithOptions }
}

pub(super) const fn next(names: &'static [&'static str], value: Value) -> Opt {
    Opt { names, takes: Takes::Next(value), stands: Stands::WithOptions }
}

pub(super) const fn or_head(names: &'static [&'static str], value: Value) -> Opt {
    Opt { names, takes: Takes::NextOrHead(value), stands: Stands::WithOptions }
}

pub(super) const fn among_revisions(opt: Opt) -> Opt {
    Opt { stands: Stands::WithRevisions, ..opt }
}

pub(super) const fn owls_own(opt: Opt) -> Opt {
    Opt { stands: Stands::OwlsOwn, ..opt }
}

impl Rule {
    /// Returns what a Grant for this row covers, such as `git log`.
    pub fn covers(&self) -> String {
        match self.verb {
            Some(verb) => format!("{} {}", self.program.name(), verb.name()),
            None => self.program.name().into(),
        }
    }

    /// Returns the words that Owl always puts in, in their order.
    pub fn adds(&self) -> impl Iterator<Item = &'static str> + use<> {
        let pager: &[&str] = if matches!(self.program, Program::Git) { &["--no-pager"] } else { &[] };
        pager.iter().chain(self.adds).chain(self.adds_behind).copied()
    }

    /// Returns the options that a model may write.
    pub fn options(&self) -> impl Iterator<Item = &'static Opt> + use<> {
        self.all_options().filter(|opt| opt.stands != Stands::OwlsOwn)
    }

    /// Returns the option that a bare number such as `-5` stands for.
    pub fn number(&self) -> Option<&'static str> {
        self.number
    }

    pub(super) fn all_options(&self) -> impl Iterator<Item = &'static Opt> + use<> {
        self.options.iter().flat_map(|group| group.options.iter())
    }

    /// Finds the option of exactly that name, and the name as the table holds it.
    pub(super) fn option(&self, name: &str) -> Option<(&'static Opt, &'static str)> {
        self.all_options().find_map(|opt| opt.names.iter().find(|known| **known == name).map(|known| (opt, *known)))
    }

    /// Says whether single letters may be written as one word. `git log`, `show` and `diff` read none so.
    pub(super) fn bundles(&self) -> bool {
        self.operands != Operands::RevisionsThenPaths
    }
}

impl Opt {
    /// Returns its names; they mean the same.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Returns what follows its name.
    pub fn takes(&self) -> Takes {
        self.takes
    }

    /// Returns the type of its value, when it takes one.
    pub fn value(&self) -> Option<Value> {
        self.takes.value()
    }
}

impl Takes {
    /// Returns the type of the value.
    pub const fn value(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Attached(value) | Self::Maybe(value) | Self::Next(value) | Self::NextOrHead(value) => Some(value),
        }
    }
}

impl Value {
    /// Returns its name for people and for the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Count => "[-]count",
            Self::CountFrom => "[-+]count",
            Self::Choice(_) => "choice",
            Self::Glob | Self::Include => "glob",
            Self::Path => "path",
            Self::Revision => "revision",
            Self::Format => "format",
            Self::RefFormat => "ref format",
            Self::SortKey => "sort key",
            Self::Lines => "start,end:file",
            Self::Score => "score",
            Self::Scores => "score[/score]",
            Self::Widths => "width[,width[,count]]",
            Self::Dirstat => "dirstat",
            Self::Filter => "filter",
            Self::Encoding => "encoding",
            Self::BlockSize => "block size",
            Self::TimeStyle => "time style",
        }
    }

    /// Returns the allowed words of a choice.
    pub const fn choices(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Choice(words) => Some(words),
            Self::Text
            | Self::Number
            | Self::Count
            | Self::CountFrom
            | Self::Glob
            | Self::Include
            | Self::Path
            | Self::Revision
            | Self::Format
            | Self::RefFormat
            | Self::SortKey
            | Self::Lines
            | Self::Score
            | Self::Scores
            | Self::Widths
            | Self::Dirstat
            | Self::Filter
            | Self::Encoding
            | Self::BlockSize
            | Self::TimeStyle => None,
        }
    }
}

impl Operands {
    /// Returns them in words, for people and for the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paths => "PATH...",
            Self::PathsOrWorkdir => "[PATH...]",
            Self::PatternThenPaths => "[PATTERN] [PATH...]",
            Self::RevisionsThenPaths => "[REVISION...] [--] [PATHSPEC...]",
            Self::PathPatterns => "[--] [PATHSPEC...]",
            Self::Nothing => "none",
        }
    }
}
