//! Files of a Project's base branch, read from git's objects and never from a working tree (D2), so that what an Agent
//! leaves in one cannot change the terms that it runs under.

use crate::{
    git::{At, Git, GitFailed},
    inspect::commit_of,
};
use owl_domain::{
    ports::BaseFile,
    text::{BranchName, CommitId},
};

/// The most that a Project's own file may have.
const FILE_BYTES: u64 = 1024 * 1024;

/// One entry of a tree, as `git ls-tree -l` tells it.
struct Entry<'a> {
    mode: &'a str,
    object: &'a str,
    size: &'a str,
}

/// Reads one file; none when there is none of that name.
pub(crate) async fn read(git: &Git, at: &At, branch: &BranchName, file: &str) -> Result<Option<BaseFile>, GitFailed> {
    let commit = tip(git, at, branch).await?;
    let listed =
        git.run(at, &["ls-tree", "-z", "-l", "--full-tree", commit.as_str(), "--", file]).await?.succeeded()?;
    let Some(entry) = entry(&String::from_utf8_lossy(&listed), file).map(|entry| match entry.mode {
        "100644" | "100755" | "100664" => Ok((entry.object.to_owned(), entry.size.to_owned())),
        "120000" => Err(GitFailed(format!("`{file}` on `{branch}` is a link, and links are not followed there"))),
        _ => Err(GitFailed(format!("`{file}` on `{branch}` is no file"))),
    }) else {
        return Ok(None);
    };
    let (object, size) = entry?;
    if size.parse::<u64>().map_or(true, |size| size > FILE_BYTES) {
        return Err(GitFailed(format!("`{file}` on `{branch}` has more than {FILE_BYTES} bytes")));
    }
    let content = git.run(at, &["cat-file", "blob", &object]).await?.succeeded()?;
    let text = String::from_utf8(content).map_err(|_| GitFailed(format!("`{file}` on `{branch}` is not UTF-8")))?;
    Ok(Some(BaseFile { commit, text }))
}

/// Lists the names in one directory, sorted; none when there is no such directory. The root is the empty name.
pub(crate) async fn list(git: &Git, at: &At, branch: &BranchName, directory: &str) -> Result<Vec<String>, GitFailed> {
    let commit = tip(git, at, branch).await?;
    let inside = if directory.is_empty() { String::new() } else { format!("{}/", directory.trim_end_matches('/')) };
    let mut words = vec!["ls-tree", "-z", "--name-only", "--full-tree", commit.as_str()];
    if !inside.is_empty() {
        words.extend(["--", &inside]);
    }
    let listed = git.run(at, &words).await?.succeeded()?;
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    // A name that is not UTF-8 is none that anybody asks for.
    let names = names.filter_map(|name| str::from_utf8(name).ok()?.strip_prefix(&inside));
    Ok(names.map(Into::into).collect())
}

async fn tip(git: &Git, at: &At, branch: &BranchName) -> Result<CommitId, GitFailed> {
    let commit = commit_of(git, at, branch).await?.and_then(|hash| CommitId::new(hash).ok());
    commit.ok_or_else(|| GitFailed(format!("there is no branch `{branch}`")))
}

/// Finds the entry of exactly that name: `mode type object size`, a tab and the name, ended by a NUL.
fn entry<'a>(listed: &'a str, file: &str) -> Option<Entry<'a>> {
    let (told, _) = listed.split('\0').filter_map(|line| line.split_once('\t')).find(|(_, name)| *name == file)?;
    let mut words = told.split_ascii_whitespace();
    let (mode, _kind) = (words.next()?, words.next()?);
    Some(Entry { mode, object: words.next()?, size: words.next()? })
}
