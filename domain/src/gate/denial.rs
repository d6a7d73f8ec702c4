//! The gate's no: which part, why, and what to write instead (ADR-0022, gate.md 6, rpc.md 4.4).

use alloc::string::String;

/// A refusal that a model and a person can act on. Nothing was run, and nobody was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    /// Which rule said no.
    pub kind: DenialKind,
    /// The word, or the character, that it is about.
    pub argument: Option<String>,
    /// One sentence without a final period that names the word and the rule.
    pub message: String,
    /// What to write instead, likewise without a period; a whole line where there is one.
    pub hint: Option<String>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $wire:literal,)*) => {
        /// The closed list of reasons, in the order in which they are looked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DenialKind { $($(#[$doc])* $name,)* }

        impl DenialKind {
            /// Every kind, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns its name on the wire and in the store.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            /// Returns the kind of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }
    };
}

kinds! {
    /// No words.
    Empty = "empty",
    /// Too many words or bytes.
    TooLong = "too_long",
    /// A NUL character.
    Nul = "nul",
    /// A quote that is not closed, or a lone backslash at the end.
    UnclosedQuote = "unclosed_quote",
    /// A character that a shell would act on.
    ShellSyntax = "shell_syntax",
    /// Not one of the seven programs, by bare name.
    Program = "program",
    /// git without one of its five verbs first.
    Verb = "verb",
    /// An option that is not in the row, or abbreviated.
    Option = "option",
    /// A value that is missing, of the wrong type, or given where none is taken.
    OptionValue = "option_value",
    /// Too many operands, too few, or not of the form that the row takes.
    Operand = "operand",
    /// A path that starts with a slash.
    PathAbsolute = "path_absolute",
    /// A path that leads out of the workdir.
    PathOutside = "path_outside",
    /// A path that leads into git data.
    PathGit = "path_git",
    /// A part of the path is a link that leads nowhere.
    PathLink = "path_link",
    /// A FIFO, socket or device that the program would open.
    PathSpecial = "path_special",
    /// A path with a shell's sign that names nothing.
    PathShellSign = "path_shell_sign",
    /// The program was not found in a trusted directory.
    NotInstalled = "not_installed",
    /// The configuration requires the kernel's confinement and the kernel lacks a part of it.
    Sandbox = "sandbox",
    /// The directory is not, or no longer, one that commands may run in.
    Workdir = "workdir",
    /// Second pass: it would run otherwise than it was shown.
    Changed = "changed",
    /// The tool call's arguments are not as the tool's schema asks.
    MalformedCall = "malformed_call",
    /// More calls in one reply, or more Proposals waiting, than are allowed.
    TooMany = "too_many",
}

impl Denial {
    /// Makes a denial that is about one word.
    pub fn about(kind: DenialKind, argument: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, argument: Some(argument.into()), message: message.into(), hint: None }
    }

    /// Makes a denial that is about the whole line.
    pub fn whole(kind: DenialKind, message: impl Into<String>) -> Self {
        Self { kind, argument: None, message: message.into(), hint: None }
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn instead(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
