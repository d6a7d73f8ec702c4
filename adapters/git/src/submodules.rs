//! Submodules as an index names them (D12, D14): git tells what is checked out there, so their repositories must be this
//! one's own, and behind the kernel's wall it may read of their configurations those that keep no secret.

use crate::{
    links,
    pins::{GIT_FILE, pin_of},
    read::{read_path, read_small},
};
use owl_domain::project::{Pin, Pins};
use std::{fs, io, path::Path};

/// What git reads of a submodule's configuration to know its format.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// Far more than git writes for one.
const CONFIG_BYTES: u64 = 64 * 1024;

/// The keys by section that keep no secret, whatever their value is.
const PLAIN: [(&str, &[&str]); 5] = [
    (
        "core",
        &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "worktree",
        ],
    ),
    ("extensions", &["compatobjectformat", "objectformat", "refstorage", "worktreeconfig"]),
    ("index", &["sparse"]),
    ("remote", &["fetch"]),
    ("branch", &["merge", "rebase"]),
];
/// Those whose value may be an address, and an address may hold a credential.
const ADDRESSES: [(&str, &[&str]); 3] =
    [("remote", &["url"]), ("branch", &["remote"]), ("submodule", &["active", "url"])];

/// Refuses a submodule whose repository lies neither in the work tree nor among the repository's own modules. Returns
/// what git may read of its configuration.
pub(crate) fn look(submodule: &Path, pins: &Pins) -> io::Result<Vec<Pin>> {
    let dot_git = submodule.join(".git");
    let foreign = || {
        let (submodule, dot_git) = (submodule.display(), dot_git.display());
        Err(io::Error::other(format!(
            "`{dot_git}` leads out of the repository, and `{submodule}` is a submodule of it"
        )))
    };
    match fs::symlink_metadata(&dot_git) {
        Ok(there) if there.is_symlink() => foreign(),
        Ok(there) if there.is_file() => {
            let Some(named) = read_path(&dot_git, GIT_FILE) else { return Ok(Vec::new()) };
            // What leads nowhere is no repository to git.
            let Ok(leads_to) = fs::canonicalize(submodule.join(named)) else { return Ok(Vec::new()) };
            let own = [&pins.common_dir, &pins.work_tree].map(|pin| Path::new(pin.path.as_str()));
            if !own.iter().any(|own| leads_to.starts_with(own)) {
                return foreign();
            }
            refuse_borrowed(&leads_to)?;
            Ok(CONFIGS.iter().filter_map(|name| readable(&leads_to.join(name))).collect())
        }
        // What lies in the work tree is read with it.
        Ok(there) if there.is_dir() => refuse_borrowed(&dot_git).map(|()| Vec::new()),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

/// Refuses a submodule's git directory that has its refs, or another part, from elsewhere.
fn refuse_borrowed(git_dir: &Path) -> io::Result<()> {
    let common_dir = git_dir.join("commondir");
    if fs::symlink_metadata(&common_dir).is_ok() {
        let reason = format!("`{}` names another repository, whose commits git would tell", common_dir.display());
        return Err(io::Error::other(reason));
    }
    links::refuse_in_git_dir(git_dir)
}

fn readable(config: &Path) -> Option<Pin> {
    let there = fs::symlink_metadata(config).ok()?;
    let text = read_small(config, CONFIG_BYTES).ok()??;
    if keeps_no_secret(str::from_utf8(&text).ok()?) { pin_of(config, &there) } else { None }
}

/// Says whether every line of a configuration is one that git itself writes for a submodule, with no credential in it.
/// Anything else, be it a comment or a quote, is not looked into.
fn keeps_no_secret(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).all(|line| {
        if line.is_empty() {
            return true;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = header.split([' ', ']']).next().unwrap_or_default().to_ascii_lowercase();
            return header.ends_with(']') && !has_credential(header);
        }
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let is_in = |keys: &[(&str, &[&str])]| {
            keys.iter().any(|(its, keys)| *its == section && keys.iter().any(|known| key.eq_ignore_ascii_case(known)))
        };
        let is_simple = !value.contains(['"', '\\', ';', '#']);
        is_simple && (is_in(&PLAIN) || is_in(&ADDRESSES) && !has_credential(value))
    })
}

/// Says whether an address names more than `git@`, which all the world does.
fn has_credential(address: &str) -> bool {
    let before = address.rsplit_once('@').map(|(before, _)| before.strip_prefix("ssh://").unwrap_or(before));
    before.is_some_and(|before| before != "git")
}

#[cfg(test)]
mod tests;
