//! The daemon's file: strict YAML into a `Config` that is valid by construction (D3). No file is all defaults.

use super::{
    API_VERSION, span,
    strict::{self, Text, Wrong},
};
use owl_domain::{gate::Sandbox, limits};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// What a person configured, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The coding tool; none: it is looked for.
    pub(crate) claude_path: Option<PathBuf>,
    /// What is asked of the kernel.
    pub(crate) sandbox: Sandbox,
    /// How long a Proposal waits for a person.
    pub(crate) consent_window: Duration,
    /// Where keys are kept; none: the system's own place.
    pub(crate) credential_store: Option<CredentialStore>,
    /// Whether keys may come from the daemon's environment.
    pub(crate) providers_from_environment: bool,
    /// How long a Run may take.
    pub(crate) runs_timeout: Duration,
    /// How long a Run may be silent.
    pub(crate) runs_silence: Duration,
    /// How much is logged.
    pub(crate) log_level: LogLevel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            claude_path: None,
            sandbox: Sandbox::Auto,
            consent_window: limits::CONSENT_WINDOW,
            credential_store: None,
            providers_from_environment: false,
            runs_timeout: Duration::from_secs(4 * 3600),
            runs_silence: Duration::from_secs(15 * 60),
            log_level: LogLevel::Info,
        }
    }
}

/// The daemon's file as it is written.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "Owl's configuration: config.yaml")]
pub(crate) struct RawConfig {
    /// Always `codingowl.dev/v1`.
    api_version: Text,
    /// The coding tool, an absolute path. Left out: it is looked for in the daemon's PATH and ~/.local/bin.
    claude_path: Option<Text>,
    /// What is asked of the kernel: use what there is, refuse commands unless all of it is there, or use none.
    sandbox: Option<RawSandbox>,
    /// Consent.
    consent: Option<RawConsent>,
    /// Where keys are kept.
    credential_store: Option<CredentialStore>,
    /// Providers.
    providers: Option<RawProviders>,
    /// Runs of Agents.
    runs: Option<RawRuns>,
    /// The daemon's log, on standard error.
    log: Option<RawLog>,
}

#[derive(Debug, Clone, Copy, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RawSandbox {
    Auto,
    Required,
    Off,
}

/// Where keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CredentialStore {
    /// The macOS Keychain.
    Keychain,
    /// credentials.json beside the database.
    File,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawConsent {
    /// How long a Proposal waits for a person: 1ms to 7d, such as 1h.
    window: Option<Text>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawProviders {
    /// Whether keys are also taken from `ANTHROPIC_API_KEY` and `OPENROUTER_API_KEY`.
    from_environment: Option<bool>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawRuns {
    /// How long a Run may take, such as 4h.
    timeout: Option<Text>,
    /// How long a Run may print nothing, such as 15m.
    silence: Option<Text>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawLog {
    /// How much is logged.
    level: Option<LogLevel>,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// What broke.
    Error,
    /// And what a person should look at.
    Warn,
    /// And what the daemon did.
    Info,
    /// And each call.
    Debug,
    /// And everything else.
    Trace,
}

/// Reads the daemon's file; one that is not there is all defaults.
///
/// # Errors
/// [`Wrong`] says where and what would be right.
pub(crate) fn load(file: &Path) -> Result<Config, Wrong> {
    match std::fs::read_to_string(file) {
        Ok(text) => parse(file, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(error) => Err(Wrong {
            file: file.into(),
            line: None,
            column: None,
            key: None,
            message: format!("it cannot be read: {error}"),
        }),
    }
}

pub(super) fn parse(file: &Path, text: &str) -> Result<Config, Wrong> {
    let raw: RawConfig = strict::read(file, text)?;
    let wrong = |key: &str, message: String| Wrong {
        file: file.into(),
        line: strict::line_of(text, key, 0),
        column: None,
        key: Some(key.into()),
        message,
    };
    if raw.api_version.0 != API_VERSION {
        return Err(wrong(
            "apiVersion",
            format!("`{}` is not read by this Owl; write {API_VERSION}", raw.api_version.0),
        ));
    }
    let defaults = Config::default();
    let claude_path = raw.claude_path.map(|path| PathBuf::from(path.0));
    if claude_path.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(wrong("claudePath", "it must be an absolute path".into()));
    }
    let spans = |key: &str, text: Option<Text>, default: Duration| match text {
        None => Ok(default),
        Some(text) => span::parse(&text.0)
            .filter(|span| !span.is_zero())
            .ok_or_else(|| wrong(key, format!("`{}` is not a duration such as 1h, 15m, 30s or 300ms", text.0))),
    };
    let consent_window = spans("consent.window", raw.consent.and_then(|c| c.window), defaults.consent_window)?;
    if consent_window > Duration::from_secs(7 * 86_400) {
        return Err(wrong("consent.window", "it is at most 7d".into()));
    }
    let (timeout, silence) = raw.runs.map_or((None, None), |runs| (runs.timeout, runs.silence));
    Ok(Config {
        claude_path,
        sandbox: match raw.sandbox {
            None => defaults.sandbox,
            Some(RawSandbox::Auto) => Sandbox::Auto,
            Some(RawSandbox::Required) => Sandbox::Required,
            Some(RawSandbox::Off) => Sandbox::Off,
        },
        consent_window,
        credential_store: raw.credential_store,
        providers_from_environment: raw.providers.and_then(|p| p.from_environment).unwrap_or(false),
        runs_timeout: spans("runs.timeout", timeout, defaults.runs_timeout)?,
        runs_silence: spans("runs.silence", silence, defaults.runs_silence)?,
        log_level: raw.log.and_then(|log| log.level).unwrap_or(defaults.log_level),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Config, String> {
        parse(Path::new("config.yaml"), text).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = check(
            "apiVersion: codingowl.dev/v1\nclaudePath: /opt/claude\nsandbox: required\nconsent:\n  window: 300ms\n\
             credentialStore: file\nproviders:\n  fromEnvironment: true\nruns:\n  timeout: 1h\n  silence: 2m\n\
             log:\n  level: debug\n",
        );
        let expected = Config {
            claude_path: Some("/opt/claude".into()),
            sandbox: Sandbox::Required,
            consent_window: Duration::from_millis(300),
            credential_store: Some(CredentialStore::File),
            providers_from_environment: true,
            runs_timeout: Duration::from_secs(3600),
            runs_silence: Duration::from_secs(120),
            log_level: LogLevel::Debug,
        };
        assert_eq!(config, Ok(expected));
        assert_eq!(check("apiVersion: codingowl.dev/v1\n"), Ok(Config::default()));
    }

    #[test]
    fn what_is_wrong_is_refused_naming_file_line_key_and_what_would_be_right() {
        let cases = [
            ("sandbox: auto\n", "config.yaml:1:1: missing field `apiVersion`"),
            (
                "apiVersion: codingowl.dev/v2\n",
                "config.yaml:1: `apiVersion`: `codingowl.dev/v2` is not read by this Owl; write codingowl.dev/v1",
            ),
            (
                "apiVersion: codingowl.dev/v1\nsandbx: auto\n",
                "config.yaml:2:1: `sandbx`: unknown field `sandbx`, expected one of `apiVersion`, `claudePath`, `sandbox`, `consent`, `credentialStore`, `providers`, `runs`, `log`",
            ),
            (
                "apiVersion: codingowl.dev/v1\nsandbox: never\n",
                "config.yaml:2:10: `sandbox`: unknown variant `never`, expected one of `auto`, `required`, `off`",
            ),
            (
                "apiVersion: codingowl.dev/v1\nconsent:\n  windw: 1h\n",
                "config.yaml:3:3: `consent.windw`: unknown field `windw`, expected `window`",
            ),
            (
                "apiVersion: codingowl.dev/v1\nconsent:\n  window: soon\n",
                "config.yaml:3: `consent.window`: `soon` is not a duration such as 1h, 15m, 30s or 300ms",
            ),
            (
                "apiVersion: codingowl.dev/v1\nconsent:\n  window: 8d\n",
                "config.yaml:3: `consent.window`: it is at most 7d",
            ),
            (
                "apiVersion: codingowl.dev/v1\nclaudePath: claude\n",
                "config.yaml:2: `claudePath`: it must be an absolute path",
            ),
            (
                "apiVersion: 1\n",
                "config.yaml:1:13: `apiVersion`: invalid type: integer `1`, expected a text; put quotes around it",
            ),
            (
                "apiVersion: codingowl.dev/v1\nproviders:\n  fromEnvironment: 1\n",
                "config.yaml:3:20: `providers.fromEnvironment`: invalid type: integer `1`, expected a boolean",
            ),
            (
                "apiVersion: codingowl.dev/v1\nsandbox: off\nsandbox: auto\n",
                "config.yaml:3: `sandbox`: this key stands there twice",
            ),
            (
                "apiVersion: codingowl.dev/v1\nallowedTools: []\n",
                "config.yaml:2:1: `allowedTools`: unknown field `allowedTools`, expected one of `apiVersion`, `claudePath`, `sandbox`, `consent`, `credentialStore`, `providers`, `runs`, `log`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(check(text).unwrap_err(), expected, "{text}");
        }
    }
}
