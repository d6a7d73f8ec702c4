//! Submodules as an index names them (D12, D14): git tells what is checked out there, so their repositories must be this
//! one's own, and it reads their configurations to know their format.

use crate::{
    links::{refuse_in_git_dir, refuse_no_file},
    pins::{GIT_FILE, pin_of},
    read::{PATHS_BYTES, read_small},
};
use owl_domain::project::{Pin, Pins};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// What git reads of a submodule's configuration.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Refuses a submodule whose repository lies neither in the work tree nor among the repository's own modules. Returns
/// what git may read of its git directory though it withholds the same of the repository's own.
pub(crate) fn look(submodule: &Path, pins: &Pins) -> io::Result<Vec<Pin>> {
    let dot_git = submodule.join(".git");
    let foreign = || {
        let (submodule, dot_git) = (submodule.display(), dot_git.display());
        Err(io::Error::other(format!(
            "`{dot_git}` leads to no repository of its own below this one, and `{submodule}` is a submodule of it"
        )))
    };
    match fs::symlink_metadata(&dot_git) {
        Ok(there) if there.is_symlink() => foreign(),
        Ok(there) if there.is_file() => {
            let Some(named) = named(&dot_git)? else { return Ok(Vec::new()) };
            // What leads nowhere is no repository to git.
            let Ok(leads_to) = fs::canonicalize(submodule.join(named)) else { return Ok(Vec::new()) };
            let own = [&pins.common_dir, &pins.work_tree].map(|pin| Path::new(pin.path.as_str()));
            let itself = [&pins.git_dir, &pins.common_dir].map(|pin| Path::new(pin.path.as_str()));
            if !own.iter().any(|own| leads_to.starts_with(own)) || itself.contains(&leads_to.as_path()) {
                return foreign();
            }
            refuse_astray(&leads_to)?;
            let pinned = |path: PathBuf| pin_of(&path, &fs::symlink_metadata(&path).ok()?);
            Ok(CONFIGS.iter().filter_map(|name| pinned(leads_to.join(name))).collect())
        }
        // What lies in the work tree is read with it.
        Ok(there) if there.is_dir() => refuse_astray(&dot_git).map(|()| Vec::new()),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

/// Returns what a submodule's `.git` file names, as git reads it; none when it is no such file to git either. One that git
/// might read otherwise is refused.
fn named(dot_git: &Path) -> io::Result<Option<PathBuf>> {
    let refused = |reason: &str| io::Error::other(format!("`{}` {reason}", dot_git.display()));
    let content = read_small(dot_git, PATHS_BYTES).map_err(|error| refused(&format!("cannot be read: {error}")))?;
    let Some(path) = content.as_deref().and_then(|content| content.strip_prefix(GIT_FILE.as_bytes())) else {
        return Ok(None);
    };
    if path.contains(&0) {
        return Err(refused("names a path with a NUL in it"));
    }
    let end = path.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    Ok(Some(OsStr::from_bytes(path.get(..end).unwrap_or_default()).into()))
}

/// Refuses a submodule's git directory that has its refs, or another part, from elsewhere.
fn refuse_astray(git_dir: &Path) -> io::Result<()> {
    let common_dir = git_dir.join("commondir");
    if fs::symlink_metadata(&common_dir).is_ok() {
        let reason = format!("`{}` names another repository, whose commits git would tell", common_dir.display());
        return Err(io::Error::other(reason));
    }
    CONFIGS.iter().try_for_each(|name| refuse_no_file(&git_dir.join(name)))?;
    refuse_in_git_dir(git_dir)
}
