//! What an Agent, and a Project's check, has in its environment: the daemon's, less every variable by which a coding tool
//! finds another credential, another service or other settings, and less Owl's own (D20). MUST NOT let one of those
//! families through: any of them would act in place of the Account's token.

use std::ffi::{OsStr, OsString};

/// What the names of such variables begin with.
const KEPT_FROM: [&str; 9] =
    ["ANTHROPIC_", "CLAUDE", "OPENROUTER_", "OPENAI_", "AWS_", "GOOGLE_", "VERTEX_", "AZURE_", "OWL_"];

/// The daemon's environment, divided.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    kept: Vec<(OsString, OsString)>,
    removed: Vec<String>,
}

impl Environment {
    /// Divides the variables of the daemon.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            if is_kept_from(&name) {
                environment.removed.push(name.to_string_lossy().into_owned());
            } else {
                environment.kept.push((name, value));
            }
        }
        environment.removed.sort_unstable();
        environment
    }

    /// Returns what may be passed on.
    pub(crate) fn kept(&self) -> &[(OsString, OsString)] {
        &self.kept
    }

    /// Returns the names of what is kept from Agents.
    pub(crate) fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Returns the value of one that may be passed on.
    pub(crate) fn get(&self, wanted: &str) -> Option<&OsStr> {
        self.kept.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str())
    }
}

fn is_kept_from(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    KEPT_FROM
        .iter()
        .any(|prefix| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_foreign_credentials_and_settings_is_kept_from_agents() {
        let names = [
            "PATH",
            "HOME",
            "LANG",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDECODE",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CONFIG_DIR",
            "OPENROUTER_API_KEY",
            "OPENAI_API_KEY",
            "AWS_PROFILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "VERTEX_REGION",
            "AZURE_TENANT",
            "OWL_SOCKET",
            "OWL_RUN_ID",
            "anthropic_api_key",
            "MY_OWL_THING",
        ];
        let environment = Environment::of(names.map(|name| (name.into(), "secret".into())));
        let kept: Vec<_> = environment.kept().iter().map(|(name, _)| name.to_string_lossy()).collect();
        assert_eq!(kept, ["PATH", "HOME", "LANG", "MY_OWL_THING"]);
        assert_eq!(environment.removed().len(), names.len() - kept.len());
        assert!(!environment.removed().iter().any(|name| name.contains("secret")));
    }
}
