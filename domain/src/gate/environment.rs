//! The fixed environment of what the chat runs: all of it is shown and digested, and nothing of the daemon's own
//! environment is in it. Owl's own git calls use the same (D9, D14).

use crate::ports::GitHome;
use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

/// What every program but git gets, sorted by name.
const COMMON: [(&str, &str); 3] = [("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];

/// Where a variable of git's comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// It is always this.
    Fixed(&'static str),
    /// The directory above the work tree: git looks for no repository beyond.
    AboveWorkTree,
    /// Owl's directory in place of the repository's configuration.
    OwnedCommonDir,
    /// The pinned git directory.
    GitDir,
    /// The copy of the index that was looked at.
    Index,
    /// The root of the work tree.
    WorkTree,
    /// How many settings there are: Owl's own, then those of the worktree.
    SettingsCount,
}

use Source::{AboveWorkTree, Fixed, GitDir, Index, OwnedCommonDir, SettingsCount, WorkTree};

/// How many settings are Owl's own.
const OWN_SETTINGS: usize = 7;

/// What git gets, sorted by name: no configuration but what Owl gives, nothing to ask, to fetch or to start.
const GIT: [(&str, Source); 34] = [
    ("GIT_ALLOW_PROTOCOL", Fixed("")),
    ("GIT_ATTR_NOSYSTEM", Fixed("1")),
    ("GIT_CEILING_DIRECTORIES", AboveWorkTree),
    ("GIT_COMMON_DIR", OwnedCommonDir),
    ("GIT_CONFIG_COUNT", SettingsCount),
    ("GIT_CONFIG_GLOBAL", Fixed("/dev/null")),
    ("GIT_CONFIG_KEY_0", Fixed("core.fsmonitor")),
    // An empty hooks path would make git look at the root of the file system.
    ("GIT_CONFIG_KEY_1", Fixed("core.hooksPath")),
    ("GIT_CONFIG_KEY_2", Fixed("log.showSignature")),
    // Without a configuration git would still start its own default of each.
    ("GIT_CONFIG_KEY_3", Fixed("gpg.program")),
    ("GIT_CONFIG_KEY_4", Fixed("gpg.ssh.program")),
    ("GIT_CONFIG_KEY_5", Fixed("gpg.x509.program")),
    ("GIT_CONFIG_KEY_6", Fixed("core.attributesFile")),
    ("GIT_CONFIG_NOSYSTEM", Fixed("1")),
    ("GIT_CONFIG_SYSTEM", Fixed("/dev/null")),
    ("GIT_CONFIG_VALUE_0", Fixed("false")),
    ("GIT_CONFIG_VALUE_1", Fixed("/dev/null")),
    ("GIT_CONFIG_VALUE_2", Fixed("false")),
    ("GIT_CONFIG_VALUE_3", Fixed("/dev/null")),
    ("GIT_CONFIG_VALUE_4", Fixed("/dev/null")),
    ("GIT_CONFIG_VALUE_5", Fixed("/dev/null")),
    ("GIT_CONFIG_VALUE_6", Fixed("/dev/null")),
    ("GIT_DIR", GitDir),
    ("GIT_EDITOR", Fixed(":")),
    ("GIT_INDEX_FILE", Index),
    ("GIT_NO_LAZY_FETCH", Fixed("1")),
    ("GIT_OPTIONAL_LOCKS", Fixed("0")),
    ("GIT_PAGER", Fixed("cat")),
    ("GIT_TERMINAL_PROMPT", Fixed("0")),
    ("GIT_WORK_TREE", WorkTree),
    ("HOME", Fixed("/nonexistent")),
    ("LC_ALL", Fixed("C.UTF-8")),
    ("PATH", Fixed("/usr/bin:/bin")),
    ("XDG_CONFIG_HOME", Fixed("/nonexistent")),
];

/// Returns the environment of every program but git, sorted by name.
#[must_use]
pub fn environment() -> Vec<(String, String)> {
    COMMON.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// Returns git's environment that names no repository, sorted by name: for looking at one that is not yet known.
#[must_use]
pub fn disarmed_git_environment() -> Vec<(String, String)> {
    let value = |from: &Source| match from {
        Fixed(value) => Some((*value).into()),
        SettingsCount => Some(OWN_SETTINGS.to_string()),
        AboveWorkTree | OwnedCommonDir | GitDir | Index | WorkTree => None,
    };
    GIT.iter().filter_map(|(name, from)| Some(((*name).into(), value(from)?))).collect()
}

/// Returns git's environment in a repository, sorted by name: pinned to it, with Owl's directory in place of its
/// configuration.
#[must_use]
pub fn git_environment(home: &GitHome) -> Vec<(String, String)> {
    let value = |from: &Source| match from {
        Fixed(value) => (*value).into(),
        AboveWorkTree => match home.work_tree.as_str().rsplit_once('/') {
            Some(("", _)) | None => "/".into(),
            Some((parent, _)) => parent.into(),
        },
        OwnedCommonDir => home.owned_common_dir.as_str().into(),
        GitDir => home.git_dir.as_str().into(),
        Index => home.index.as_str().into(),
        WorkTree => home.work_tree.as_str().into(),
        SettingsCount => (OWN_SETTINGS + home.settings.len()).to_string(),
    };
    let mut env: Vec<(String, String)> = GIT.iter().map(|(name, from)| ((*name).into(), value(from))).collect();
    for (number, (key, value)) in (OWN_SETTINGS..).zip(&home.settings) {
        env.push((format!("GIT_CONFIG_KEY_{number}"), key.clone()));
        env.push((format!("GIT_CONFIG_VALUE_{number}"), value.clone()));
    }
    env.sort_unstable();
    env
}
