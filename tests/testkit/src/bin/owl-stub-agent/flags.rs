//! The command line, as the version that is played would read it.

use std::fmt;

/// Which version is played.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

/// The first version with `--permission-prompts` and an event for each denial.
const WITH_PROMPTS_FLAG: Version = Version(2, 1, 259);
const DEFAULT: Version = Version(2, 1, 332);

impl Version {
    /// Reads `STUB_AGENT_VERSION`.
    pub(crate) fn configured() -> Self {
        let Ok(text) = std::env::var("STUB_AGENT_VERSION") else { return DEFAULT };
        let mut numbers = text.split('.').map(|number| number.parse().unwrap());
        let mut next = || numbers.next().unwrap();
        Self(next(), next(), next())
    }

    /// Says whether each denial is told as it happens, and prompts are turned off by a flag of their own.
    pub(crate) fn tells_denials(&self) -> bool {
        *self >= WITH_PROMPTS_FLAG
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What a command line asks for.
pub(crate) enum Parsed {
    Version,
    Help,
    Wrong(String),
    Flags(Flags),
}

/// Print mode's flags.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) print: bool,
    pub(crate) verbose: bool,
    pub(crate) stream_json: bool,
    pub(crate) prompts_none: bool,
    pub(crate) mode: Option<String>,
    pub(crate) sources: Option<Vec<String>>,
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) skips_permissions: bool,
    pub(crate) prompt: Option<String>,
}

/// Flags with one word behind them.
const WITH_WORD: [&str; 9] = [
    "--output-format",
    "--permission-prompts",
    "--permission-mode",
    "--setting-sources",
    "--append-system-prompt",
    "--settings",
    "--permission-prompt-tool",
    "--model",
    "--input-format",
];
/// Flags with several.
const WITH_WORDS: [&str; 5] =
    ["--add-dir", "--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools"];
const ALONE: [&str; 4] = ["--print", "-p", "--verbose", "--bare"];
const SKIPS: [&str; 2] = ["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"];
const MODES: [&str; 7] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"];

impl Flags {
    pub(crate) fn read(argv: &[String], version: &Version) -> Parsed {
        let mut flags = Self::default();
        let mut words = argv.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            match word {
                "--version" | "-v" => return Parsed::Version,
                "--help" | "-h" => return Parsed::Help,
                "--" => {
                    flags.prompt = words.next().map(Into::into).filter(|prompt: &String| !prompt.is_empty());
                    if let Some(more) = words.next() {
                        return Parsed::Wrong(format!("error: too many arguments: '{more}'"));
                    }
                }
                "--permission-prompts" if !version.tells_denials() => return unknown(word),
                _ if ALONE.contains(&word) => {
                    flags.print |= matches!(word, "--print" | "-p");
                    flags.verbose |= word == "--verbose";
                }
                _ if SKIPS.contains(&word) => flags.skips_permissions = true,
                _ if WITH_WORD.contains(&word) => {
                    let Some(value) = words.next() else {
                        return Parsed::Wrong(format!("error: option '{word}' argument missing"));
                    };
                    if let Some(wrong) = flags.set(word, value) {
                        return Parsed::Wrong(wrong);
                    }
                }
                _ if WITH_WORDS.contains(&word) => {
                    let mut values = Vec::new();
                    while let Some(value) = words.next_if(|next| !next.starts_with('-')) {
                        values.push(value.to_owned());
                    }
                    if values.is_empty() {
                        return Parsed::Wrong(format!("error: option '{word}' argument missing"));
                    }
                    if word.to_ascii_lowercase().replace("d-t", "dt") == "--allowedtools" {
                        flags.allowed_tools.extend(values);
                    }
                }
                _ if word.starts_with('-') => return unknown(word),
                // The tool would take it; the stub wants prompts behind `--`.
                _ => return Parsed::Wrong(format!("owl-stub-agent: `{word}` stands before `--`")),
            }
        }
        if flags.print && flags.stream_json && !flags.verbose {
            let message = "Error: When using --print, --output-format=stream-json requires --verbose";
            return Parsed::Wrong(message.into());
        }
        Parsed::Flags(flags)
    }

    fn set(&mut self, flag: &str, value: &str) -> Option<String> {
        match flag {
            "--output-format" => self.stream_json = value == "stream-json",
            "--permission-prompts" => self.prompts_none = value == "none",
            "--permission-mode" if !MODES.contains(&value) => {
                return Some(format!("error: option '--permission-mode <mode>' argument '{value}' is invalid."));
            }
            "--permission-mode" => {
                self.skips_permissions |= value == "bypassPermissions";
                self.mode = Some(value.into());
            }
            "--setting-sources" => self.sources = Some(value.split(',').map(Into::into).collect()),
            "--settings" => self.skips_permissions |= value.contains("bypassPermissions"),
            "--permission-prompt-tool" => self.skips_permissions = true,
            _ => {}
        }
        None
    }

    pub(crate) fn prompts_are_off(&self) -> bool {
        self.prompts_none || self.mode.as_deref() == Some("dontAsk")
    }

    /// Says whether settings of that source count.
    pub(crate) fn has_source(&self, source: &str) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.iter().any(|one| one == source))
    }
}

fn unknown(word: &str) -> Parsed {
    Parsed::Wrong(format!("error: unknown option '{word}'"))
}

/// As much of the help as anybody reads.
pub(crate) fn help(version: &Version) -> String {
    let mut help = String::from(
        "Usage: claude [options] [command] [prompt]\n\nOptions:\n  --add-dir <directories...>\n  --allowedTools, --allowed-tools \
         <tools...>\n  --append-system-prompt <prompt>\n  --output-format <format>\n  --permission-mode <mode>  Permission mode \
         (choices: \"acceptEdits\", \"auto\", \"bypassPermissions\", \"dontAsk\", \"plan\")\n",
    );
    if version.tells_denials() {
        help.push_str(
            "  --permission-prompts <target>  Who answers permission prompts with --print: \"host\" or \"none\"\n",
        );
    }
    help.push_str("  -p, --print\n  --setting-sources <sources>\n  --verbose\n  -v, --version\n");
    help
}
