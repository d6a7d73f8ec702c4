//! The few keys of a repository's configuration that git needs to read it right, copied by value (D14). What is not
//! listed is not copied, so that no program, no include and no credential comes along.

use crate::{
    git::{Git, GitFailed},
    index::Hash,
};
use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

/// What the repository's own configuration says that Owl must know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Config {
    /// The configuration that git is given instead.
    pub(crate) text: String,
    /// Whether it says that there is no work tree.
    pub(crate) is_bare: bool,
    /// Where it says that the work tree is.
    pub(crate) work_tree: Option<Vec<u8>>,
    /// Whether each worktree has a configuration of its own beside it.
    pub(crate) has_one_per_worktree: bool,
}

/// What one worktree's own configuration says beside the common one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OfWorktree {
    /// What git must know too, as keys and values.
    pub(crate) settings: Vec<(String, String)>,
    is_bare: Option<bool>,
    work_tree: Option<Vec<u8>>,
}

impl Config {
    /// Says the same of one worktree, whose own configuration wins.
    pub(crate) fn in_worktree(self, own: OfWorktree) -> Self {
        Self { is_bare: own.is_bare.unwrap_or(self.is_bare), work_tree: own.work_tree.or(self.work_tree), ..self }
    }
}

/// Ten thousand branches; more is no configuration.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// What Owl sets itself: nothing that it had looked at would stand behind these files, which git believes as they are.
const OWN: &str = "[core]\n\tbare = false\n\tuntrackedcache = false\n\tmultipackindex = false\n";

/// The name of a worktree's own configuration in its git directory.
const WORKTREE: &str = "config.worktree";

/// Keys of one value, and the values that each may have.
const SINGLE: [(&str, Values); 11] = [
    ("core.repositoryformatversion", Values::OneOf(&["0", "1"])),
    ("core.filemode", Values::Bool),
    ("core.symlinks", Values::Bool),
    ("core.ignorecase", Values::Bool),
    ("core.precomposeunicode", Values::Bool),
    ("core.autocrlf", Values::BoolOr("input")),
    ("core.eol", Values::OneOfAnyCase(&["lf", "crlf", "native"])),
    // What is there of what a sparse checkout leaves out is a change, and git tells of it only where it knows.
    ("core.sparsecheckout", Values::Bool),
    ("extensions.objectformat", Values::OneOf(&["sha1", "sha256"])),
    ("extensions.refstorage", Values::OneOf(&["files", "reftable"])),
    ("sparse.expectfilesoutsideofpatterns", Values::Bool),
];

enum Values {
    Bool,
    BoolOr(&'static str),
    OneOf(&'static [&'static str]),
    OneOfAnyCase(&'static [&'static str]),
}

impl Values {
    fn hold(&self, value: &str) -> bool {
        let is_bool = || truth(value.as_bytes()).is_some();
        match self {
            Self::Bool => is_bool(),
            Self::BoolOr(other) => value.eq_ignore_ascii_case(other) || is_bool(),
            Self::OneOf(values) => values.contains(&value),
            Self::OneOfAnyCase(values) => values.iter().any(|one| one.eq_ignore_ascii_case(value)),
        }
    }
}

/// Tells the length of object names from the configuration that git is given.
pub(crate) fn hash_of(text: &[u8]) -> Hash {
    let is_long = |line: &[u8]| line == b"\tobjectformat = \"sha256\"";
    if text.split(|byte| *byte == b'\n').any(is_long) { Hash::Sha256 } else { Hash::Sha1 }
}

/// Reads a repository's configuration with git itself, which follows no include there, in a directory of Owl's own.
pub(crate) async fn read(git: &Git, cwd: &Path, common_dir: &Path) -> Result<Config, GitFailed> {
    compose(&list(git, cwd, &common_dir.join("config")).await?)
}

/// Reads likewise what a worktree's git directory says beside it.
pub(crate) async fn read_of_worktree(git: &Git, cwd: &Path, git_dir: &Path) -> Result<OfWorktree, GitFailed> {
    compose_of_worktree(&list(git, cwd, &of_worktree(git_dir)).await?)
}

/// Returns where a worktree's own configuration is.
pub(crate) fn of_worktree(git_dir: &Path) -> PathBuf {
    git_dir.join(WORKTREE)
}

async fn list(git: &Git, cwd: &Path, file: &Path) -> Result<Vec<u8>, GitFailed> {
    match std::fs::symlink_metadata(file) {
        Ok(there) if there.is_file() && there.len() > MOST_BYTES => {
            return Err(GitFailed(format!("`{}` has more than {MOST_BYTES} bytes", file.display())));
        }
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(GitFailed(format!("`{}` is no regular file", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(GitFailed(format!("`{}`: {error}", file.display()))),
    }
    let words = ["config".as_ref(), "--file".as_ref(), file.as_os_str()];
    let words = words.into_iter().chain(["--no-includes", "-z", "--list"].map(AsRef::as_ref)).collect::<Vec<_>>();
    git.run_outside(cwd, &words).await?.succeeded()
}

/// What is taken out of a configuration.
#[derive(Default)]
struct Picked {
    single: [Option<String>; SINGLE.len()],
    sections: String,
    is_bare: Option<bool>,
    work_tree: Option<Vec<u8>>,
    has_one_per_worktree: bool,
}

impl Picked {
    /// Reads what `git config -z --list` printed: `key`, a newline and the value, ended by a NUL.
    fn out_of(listed: &[u8]) -> Result<Self, GitFailed> {
        let mut picked = Self::default();
        for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let (key, value) = match entry.iter().position(|byte| *byte == b'\n') {
                Some(at) => (entry.get(..at).unwrap_or_default(), entry.get(at + 1..).unwrap_or_default()),
                // A key alone, which means yes.
                None => (entry, b"true".as_slice()),
            };
            match key {
                b"core.bare" => picked.is_bare = Some(is_true(value)),
                b"core.worktree" => picked.work_tree = Some(value.to_vec()),
                b"extensions.worktreeconfig" => picked.has_one_per_worktree = is_true(value),
                _ => {}
            }
            let (Ok(key), Ok(value)) = (str::from_utf8(key), str::from_utf8(value)) else {
                continue;
            };
            if let Some(at) = SINGLE.iter().position(|(name, _)| *name == key) {
                picked.single[at] = Some(value.to_owned());
            } else {
                copy_section(&mut picked.sections, key, value);
            }
        }
        match SINGLE
            .iter()
            .zip(&picked.single)
            .find(|((_, known), value)| value.as_ref().is_some_and(|value| !known.hold(value)))
        {
            Some(((key, _), _)) => {
                Err(GitFailed(format!("the repository's configuration sets `{key}` to a value that Owl does not know")))
            }
            None => Ok(picked),
        }
    }

    fn settings(&mut self) -> impl Iterator<Item = (&'static str, String)> {
        SINGLE.iter().zip(&mut self.single).filter_map(|((key, _), value)| Some((*key, value.take()?)))
    }
}

/// Writes the configuration that git is given.
fn compose(listed: &[u8]) -> Result<Config, GitFailed> {
    let mut picked = Picked::out_of(listed)?;
    let mut text = OWN.to_owned();
    let mut section = "core";
    for (key, value) in picked.settings() {
        let (its, name) = key.split_once('.').unwrap_or(("core", key));
        if its != section {
            write_to(&mut text, format_args!("[{its}]\n"));
            section = its;
        }
        write_to(&mut text, format_args!("\t{name} = {}\n", quoted(&value)));
    }
    text.push_str(&picked.sections);
    Ok(Config {
        text,
        is_bare: picked.is_bare.unwrap_or_default(),
        work_tree: picked.work_tree,
        has_one_per_worktree: picked.has_one_per_worktree,
    })
}

/// Picks the same of a worktree's own, but for the format, which git itself reads in the common one alone.
fn compose_of_worktree(listed: &[u8]) -> Result<OfWorktree, GitFailed> {
    let mut picked = Picked::out_of(listed)?;
    let is_format = |key: &str| key == "core.repositoryformatversion" || key.starts_with("extensions.");
    let settings = picked.settings().filter(|(key, _)| !is_format(key));
    let settings = settings.map(|(key, value)| (key.to_owned(), value)).collect();
    Ok(OfWorktree { settings, is_bare: picked.is_bare, work_tree: picked.work_tree })
}

/// Copies what makes an upstream known: `branch.*.remote`, `branch.*.merge` and `remote.*.fetch`.
fn copy_section(sections: &mut String, key: &str, value: &str) {
    let Some((section, rest)) = key.split_once('.') else { return };
    let Some((name, key)) = rest.rsplit_once('.') else { return };
    let copied = match (section, key) {
        // In the place of a remote's name may stand an address, and an address may hold a credential.
        ("branch", "remote") => is_name(value),
        ("branch", "merge") => true,
        ("remote", "fetch") => is_name(name),
        _ => false,
    };
    if copied && !name.contains(['\n', '\0']) {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        write_to(sections, format_args!("[{section} \"{name}\"]\n\t{key} = {}\n", quoted(value)));
    }
}

fn is_name(remote: &str) -> bool {
    !remote.contains([':', '@'])
}

fn quoted(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{value}\"")
}

fn is_true(value: &[u8]) -> bool {
    truth(value) == Some(true)
}

/// Reads a yes or no as git does: a word, or a number with or without a unit.
fn truth(value: &[u8]) -> Option<bool> {
    let value = str::from_utf8(value).ok()?.to_ascii_lowercase();
    match value.as_str() {
        "true" | "yes" | "on" => Some(true),
        "" | "false" | "no" | "off" => Some(false),
        number => number.trim_end_matches(['k', 'm', 'g']).parse::<i32>().ok().map(|number| number != 0),
    }
}

/// Writing to text cannot fail.
fn write_to(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).unwrap_or_default();
}

#[cfg(test)]
mod tests;
