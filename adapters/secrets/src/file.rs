//! `credentials.json`: readable by its owner alone, replaced as a whole, so that a write that fails leaves the old one
//! in force (D18).

use async_trait::async_trait;
use owl_domain::{
    ports::{Credential, CredentialError, CredentialName, CredentialSource, Credentials},
    provider::Secret,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::NamedTempFile;
use tokio::{sync::Mutex, task::spawn_blocking};

/// The form of the file; another one is not guessed at.
const VERSION: u32 = 1;
/// More than all keys of all Providers and Accounts: what is longer is not this file.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Secrets in a file.
#[derive(Debug, Clone)]
pub struct FileCredentials {
    path: Arc<PathBuf>,
    /// One change at a time: a change reads the whole and writes the whole.
    changing: Arc<Mutex<()>>,
}

/// The file as it is written. Its fields are secret; it has no `Debug`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    #[serde(default)]
    providers: BTreeMap<String, String>,
    #[serde(default)]
    accounts: BTreeMap<String, String>,
}

impl FileCredentials {
    /// Keeps secrets in the file at `path`, which is made with its first secret; its directory too, for its owner alone.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: Arc::new(path.into()), changing: Arc::default() }
    }

    async fn change(&self, change: impl FnOnce(&mut Content) -> bool + Send + 'static) -> Result<(), CredentialError> {
        let _alone = self.changing.lock().await;
        let path = Arc::clone(&self.path);
        let changed = move || {
            let mut content = read(&path)?;
            if change(&mut content) { write(&path, &content) } else { Ok(()) }
        };
        self.blocking(changed).await
    }

    /// Runs file work away from the threads that serve connections. It ends even if nobody waits for it any more.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let done = spawn_blocking(work).await;
        let done = done.unwrap_or_else(|_| Err("could not be reached; the daemon is stopping".into()));
        done.map_err(|reason| CredentialError { store: self.path.display().to_string(), reason })
    }
}

#[async_trait]
impl Credentials for FileCredentials {
    async fn get(&self, name: CredentialName) -> Result<Option<Credential>, CredentialError> {
        let path = Arc::clone(&self.path);
        self.blocking(move || {
            let mut content = read(&path)?;
            let (kind, name) = content.place(&name);
            let Some(text) = kind.remove(&name) else { return Ok(None) };
            let secret = Secret::new(text)
                .map_err(|wrong| format!("holds what is no key for `{name}` (it must be {wrong}); store it anew"))?;
            Ok(Some(Credential { secret, source: CredentialSource::File }))
        })
        .await
    }

    async fn set(&self, name: CredentialName, secret: Secret) -> Result<(), CredentialError> {
        self.change(move |content| {
            let (kind, name) = content.place(&name);
            kind.insert(name, secret.expose().to_owned());
            true
        })
        .await
    }

    async fn remove(&self, name: CredentialName) -> Result<(), CredentialError> {
        self.change(move |content| {
            let (kind, name) = content.place(&name);
            kind.remove(&name).is_some()
        })
        .await
    }

    fn store(&self) -> &'static str {
        "file"
    }
}

impl Content {
    fn place(&mut self, name: &CredentialName) -> (&mut BTreeMap<String, String>, String) {
        match name {
            CredentialName::Provider(provider) => (&mut self.providers, provider.name().to_owned()),
            CredentialName::Account(account) => (&mut self.accounts, account.as_str().to_owned()),
        }
    }
}

/// Reads the file; one that is not there holds nothing. No word of it is in an error.
fn read(path: &Path) -> Result<Content, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Content { version: VERSION, ..Content::default() });
        }
        Err(error) => return Err(format!("could not be opened: {error}")),
    };
    let mut text = String::new();
    let bytes = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    let text = SecretString::from(text);
    match bytes {
        Ok(bytes) if bytes as u64 > MOST_BYTES => return Err(format!("is longer than {MOST_BYTES} bytes")),
        Ok(_) => {}
        Err(error) => return Err(format!("could not be read: {error}")),
    }
    let content: Content = serde_json::from_str(text.expose_secret()).map_err(|error| {
        // serde_json's own words may hold a piece of the text.
        format!(
            "is not as Owl wrote it (line {}, column {}); mend it, or move it away and store the keys anew",
            error.line(),
            error.column()
        )
    })?;
    if content.version != VERSION {
        return Err(format!("has version {}, and this Owl knows version {VERSION}", content.version));
    }
    Ok(content)
}

/// Replaces the file as a whole: written beside it, on the disk before it takes the old one's name.
fn write(path: &Path, content: &Content) -> Result<(), String> {
    let failed =
        |what: &str, error: &io::Error| format!("could not be {what}: {error}; what it held is still in force");
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| failed("made", &error))?;
    let text = serde_json::to_string_pretty(content).map_err(|_| "could not be written".to_owned())?;
    let text = SecretString::from(text);
    // Made with mode 0600, whatever the umask says.
    let mut beside =
        NamedTempFile::with_prefix_in(".credentials.", directory).map_err(|error| failed("written", &error))?;
    let written = beside
        .write_all(text.expose_secret().as_bytes())
        .and_then(|()| beside.write_all(b"\n"))
        .and_then(|()| beside.as_file().sync_all());
    written.map_err(|error| failed("written", &error))?;
    beside.persist(path).map_err(|error| failed("replaced", &error.error))?;
    // The name is on the disk once the directory is.
    fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| format!("was replaced, but its directory could not be written to the disk: {error}"))
}

#[cfg(test)]
mod tests;
