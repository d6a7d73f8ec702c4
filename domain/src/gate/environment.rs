//! The fixed environment of what the chat runs: all of it is shown and digested, and nothing of the daemon's own
//! environment is in it. Owl's own git calls use the same (D9, D14).

use crate::ports::GitHome;
use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};

/// What every program gets, sorted by name.
const COMMON: [(&str, &str); 3] = [("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];

/// What git gets beside it: no configuration but what Owl gives, nothing to ask, to fetch or to start.
const GIT: [(&str, &str); 11] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_EDITOR", ":"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
];

/// The keys that are set whatever a repository says. An empty hooks path would make git look at the root of the file
/// system; the three programs are git's own defaults otherwise.
const CONFIG: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("diff.autoRefreshIndex", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "/dev/null"),
    ("gpg.ssh.program", "/dev/null"),
    ("gpg.x509.program", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
];

/// Returns the environment of every program but git, sorted by name.
pub fn environment() -> Vec<(String, String)> {
    owned(COMMON.iter())
}

/// Returns git's environment that names no repository, sorted by name: for looking at one that is not yet known.
pub fn disarmed_git_environment() -> Vec<(String, String)> {
    let mut variables = owned(COMMON.iter().chain(&GIT));
    variables.push(("GIT_CONFIG_COUNT".into(), CONFIG.len().to_string()));
    for (index, (key, value)) in CONFIG.iter().enumerate() {
        let index = index.to_string();
        variables.push((["GIT_CONFIG_KEY_", &index].concat(), (*key).into()));
        variables.push((["GIT_CONFIG_VALUE_", &index].concat(), (*value).into()));
    }
    variables.sort_unstable();
    variables
}

/// Returns git's environment in a repository, sorted by name: pinned to it, with Owl's directory in place of its
/// configuration.
pub fn git_environment(home: &GitHome) -> Vec<(String, String)> {
    let mut variables = disarmed_git_environment();
    let root = home.work_tree.as_str();
    let parent = root.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent });
    for (name, value) in [
        ("GIT_CEILING_DIRECTORIES", parent),
        ("GIT_COMMON_DIR", home.owned_common_dir.as_str()),
        ("GIT_DIR", home.git_dir.as_str()),
        ("GIT_WORK_TREE", root),
    ] {
        variables.push((name.into(), value.into()));
    }
    variables.sort_unstable();
    variables
}

fn owned<'v>(variables: impl Iterator<Item = &'v (&'static str, &'static str)>) -> Vec<(String, String)> {
    variables.map(|(name, value)| ((*name).into(), (*value).into())).collect()
}
