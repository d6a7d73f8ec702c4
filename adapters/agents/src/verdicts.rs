//! The Verdicts port: one small JSON file in a fresh private directory, read without following a link (D22). Nothing that
//! lies in a worktree is ever taken for a verdict.

use async_trait::async_trait;
use nix::fcntl::OFlag;
use owl_domain::{
    ids::RunId,
    limits,
    ports::{Verdict, VerdictError, Verdicts},
    text::{AbsPath, cut_bytes},
};
use serde_json::Value;
use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

const NAME: &str = "verdict.json";
/// A few sentences; far more is no verdict.
const FILE_BYTES: u64 = 256 * 1024;

/// Verdicts as files.
#[derive(Debug)]
pub struct VerdictFiles {
    directory: PathBuf,
}

impl VerdictFiles {
    /// Takes a directory of Owl's own; it is made when it is needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    fn directory(&self, run: RunId) -> PathBuf {
        self.directory.join(run.to_string())
    }
}

#[async_trait]
impl Verdicts for VerdictFiles {
    async fn place(&self, run: RunId) -> Result<AbsPath, VerdictError> {
        let directory = self.directory(run);
        waiting(move || make(&directory)).await
    }

    async fn take(&self, run: RunId) -> Result<Verdict, VerdictError> {
        let directory = self.directory(run);
        waiting(move || {
            let taken = read(&directory.join(NAME));
            if let Err(error) = remove(&directory) {
                tracing::warn!(path = %directory.display(), %error, "a verdict's directory stays behind");
            }
            taken
        })
        .await
    }
}

async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, VerdictError> + Send + 'static,
) -> Result<T, VerdictError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(VerdictError::Unreadable(error.to_string())))
}

fn make(directory: &Path) -> Result<AbsPath, VerdictError> {
    let failed = |error: io::Error| VerdictError::Unreadable(format!("{}: {error}", directory.display()));
    remove(directory).map_err(failed)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let file = directory.join(NAME);
    let path = file.to_str().and_then(|path| AbsPath::new(path).ok());
    path.ok_or_else(|| VerdictError::Unreadable(format!("{} is no absolute path in UTF-8", file.display())))
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::symlink_metadata(directory) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(directory),
        Ok(_) => fs::remove_file(directory),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn read(file: &Path) -> Result<Verdict, VerdictError> {
    let unreadable = |what: String| VerdictError::Unreadable(what);
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(VerdictError::Missing),
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => return Err(VerdictError::Link),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if !opened.metadata().is_ok_and(|there| there.is_file()) {
        return Err(unreadable("it is no regular file".into()));
    }
    let mut bytes = Vec::new();
    opened.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(unreadable(format!("it has more than {FILE_BYTES} bytes")));
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| unreadable(format!("it is no JSON: {error}")))?;
    let passed = match value.get("verdict").and_then(Value::as_str) {
        Some("pass") => true,
        Some("fail") => false,
        _ => return Err(unreadable("its `verdict` is neither \"pass\" nor \"fail\"".into())),
    };
    let message = value.get("message").and_then(Value::as_str).unwrap_or_default();
    Ok(Verdict { passed, message: cut_bytes(message, limits::LAST_WORDS_BYTES).into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use tempfile::TempDir;

    fn said(content: &str) -> Result<Verdict, VerdictError> {
        let home = TempDir::new().unwrap();
        let file = home.path().join(NAME);
        fs::write(&file, content).unwrap();
        read(&file)
    }

    #[tokio::test]
    async fn a_verdict_is_taken_from_a_fresh_private_place() {
        let home = TempDir::new().unwrap();
        let verdicts = VerdictFiles::new(home.path().join("verdicts"));
        let run = RunId::new(9);
        let old = home.path().join("verdicts/r_9");
        fs::create_dir_all(&old).unwrap();
        fs::write(old.join(NAME), r#"{"verdict":"pass"}"#).unwrap();
        let place = verdicts.place(run).await.unwrap();
        assert!(!Path::new(place.as_str()).exists(), "one that lay there before is gone");
        assert_eq!(fs::metadata(&old).unwrap().mode() & 0o777, 0o700);
        fs::write(place.as_str(), "{\"verdict\":\"fail\",\"message\":\"No.\"}\n").unwrap();
        assert_eq!(verdicts.take(run).await, Ok(Verdict { passed: false, message: "No.".into() }));
        assert!(!old.exists());
        assert_eq!(verdicts.take(run).await, Err(VerdictError::Missing));
    }

    #[test]
    fn what_is_no_verdict_is_none() {
        for content in ["", "pass", "{}", r#"{"verdict":"PASS"}"#, r#"{"verdict":true}"#, "[1]", "```json\n{}\n```"] {
            assert!(matches!(said(content), Err(VerdictError::Unreadable(_))), "{content}");
        }
        assert_eq!(said(r#"{"verdict":"pass","more":1}"#), Ok(Verdict { passed: true, message: String::new() }));
        let long = "x".repeat(usize::try_from(FILE_BYTES).unwrap());
        assert!(said(&format!(r#"{{"verdict":"pass","message":"{long}"}}"#)).is_err());
        let long = "ü".repeat(limits::LAST_WORDS_BYTES);
        let kept = said(&format!(r#"{{"verdict":"pass","message":"{long}"}}"#)).unwrap().message;
        assert_eq!(kept.len(), limits::LAST_WORDS_BYTES);
    }

    #[test]
    fn a_link_is_not_followed_and_nothing_but_a_file_is_read() {
        let home = TempDir::new().unwrap();
        let good = home.path().join("good.json");
        fs::write(&good, r#"{"verdict":"pass"}"#).unwrap();
        let file = home.path().join(NAME);
        symlink(&good, &file).unwrap();
        assert_eq!(read(&file), Err(VerdictError::Link));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(matches!(read(&file), Err(VerdictError::Unreadable(_))));
        fs::remove_dir(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(read(&file), Err(VerdictError::Unreadable(_))), "a FIFO does not hold Owl up");
    }
}
