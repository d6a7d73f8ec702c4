//! Where things lie (D2): XDG on every system, `OWL_SOCKET` over all for the socket. Touches nothing.

use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "coding-owl";

/// Where things lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// The directory of the configuration.
    pub(crate) config: PathBuf,
    /// What lasts: the database, Accounts, worktrees, credentials.
    pub(crate) data: PathBuf,
    /// What can be made again: logs, what git is given.
    pub(crate) state: PathBuf,
    /// The socket.
    pub(crate) socket: PathBuf,
    /// Whether a person chose where the socket is; its directory is theirs then.
    pub(crate) socket_is_chosen: bool,
}

impl Places {
    /// Reads them from the environment.
    ///
    /// # Errors
    /// Names the variable that is missing or relative.
    pub(crate) fn from_environment() -> anyhow::Result<Self> {
        Self::from(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// Reads them from variables; an empty one counts as unset, as the base directory specification says.
    fn from(variable: impl Fn(&str) -> Option<PathBuf>) -> anyhow::Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
        let home = || {
            let home = set("HOME").context("HOME is not set; set it, or the XDG_*_HOME variables")?;
            absolute("HOME", home)
        };
        let place = |name: &str, below_home: &str| -> anyhow::Result<PathBuf> {
            match set(name) {
                Some(path) => Ok(absolute(name, path)?.join(DIRECTORY)),
                None => Ok(home()?.join(below_home).join(DIRECTORY)),
            }
        };
        let state = place("XDG_STATE_HOME", ".local/state")?;
        let socket = match (set("OWL_SOCKET"), set("XDG_RUNTIME_DIR")) {
            (Some(path), _) => absolute("OWL_SOCKET", path)?,
            (None, Some(runtime)) => absolute("XDG_RUNTIME_DIR", runtime)?.join(DIRECTORY).join("owl.sock"),
            (None, None) => state.join("owl.sock"),
        };
        Ok(Self {
            config: place("XDG_CONFIG_HOME", ".config")?,
            data: place("XDG_DATA_HOME", ".local/share")?,
            state,
            socket,
            socket_is_chosen: set("OWL_SOCKET").is_some(),
        })
    }

    /// Places below one directory, for the demo.
    pub(crate) fn below(home: &Path) -> Self {
        Self {
            config: home.join("config"),
            data: home.join("data"),
            state: home.join("state"),
            socket: home.join("run").join("owl.sock"),
            socket_is_chosen: false,
        }
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.config.join("config.yaml")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data.join("owl.db")
    }

    pub(crate) fn credentials(&self) -> PathBuf {
        self.data.join("credentials.json")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// What git is given in place of the repositories' configuration.
    pub(crate) fn git(&self) -> PathBuf {
        self.state.join("git")
    }

    /// Accounts' directories.
    pub(crate) fn accounts(&self) -> PathBuf {
        self.data.join("accounts")
    }

    /// Jobs' worktrees.
    pub(crate) fn worktrees(&self) -> PathBuf {
        self.data.join("worktrees")
    }

    /// Where Verifiers leave their verdicts.
    pub(crate) fn verdicts(&self) -> PathBuf {
        self.state.join("verdicts")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.data.join("daemon.lock")
    }
}

fn absolute(name: &str, path: PathBuf) -> anyhow::Result<PathBuf> {
    if !path.is_absolute() {
        bail!("{name} must be an absolute path, and is `{}`", path.display());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(variables: &[(&str, &str)]) -> anyhow::Result<Places> {
        Places::from(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| PathBuf::from(value)))
    }

    #[test]
    fn everything_lies_below_home_unless_told_otherwise() {
        let places = places(&[("HOME", "/home/u")]).unwrap();
        assert_eq!(places.config_file(), Path::new("/home/u/.config/coding-owl/config.yaml"));
        assert_eq!(places.database(), Path::new("/home/u/.local/share/coding-owl/owl.db"));
        assert_eq!(places.logs(), Path::new("/home/u/.local/state/coding-owl/logs"));
        assert_eq!(places.socket, Path::new("/home/u/.local/state/coding-owl/owl.sock"));
    }

    #[test]
    fn the_runtime_directory_and_then_owl_socket_win_for_the_socket() {
        let runtime = [("HOME", "/home/u"), ("XDG_RUNTIME_DIR", "/run/user/1000")];
        assert_eq!(places(&runtime).unwrap().socket, Path::new("/run/user/1000/coding-owl/owl.sock"));
        let named = [("HOME", "/home/u"), ("XDG_RUNTIME_DIR", "/run/user/1000"), ("OWL_SOCKET", "/tmp/o.sock")];
        assert_eq!(places(&named).unwrap().socket, Path::new("/tmp/o.sock"));
    }

    #[test]
    fn a_relative_path_is_refused_naming_its_variable() {
        let error = places(&[("HOME", "/home/u"), ("OWL_SOCKET", "owl.sock")]).unwrap_err();
        assert_eq!(error.to_string(), "OWL_SOCKET must be an absolute path, and is `owl.sock`");
        assert!(places(&[]).unwrap_err().to_string().starts_with("HOME is not set"));
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let places = places(&[("HOME", "/home/u"), ("OWL_SOCKET", ""), ("XDG_DATA_HOME", "")]).unwrap();
        assert_eq!(places.data, Path::new("/home/u/.local/share/coding-owl"));
    }
}
