use super::*;
use nix::sys::{
    resource::{Resource, setrlimit},
    signal::{SigSet, Signal},
};
use owl_domain::{provider::Provider, text::AccountName};
use std::os::unix::fs::{MetadataExt, symlink};

const KEY: &str = "sk-planted-0123456789";

struct Home {
    directory: tempfile::TempDir,
    credentials: FileCredentials,
}

fn home() -> Home {
    let directory = tempfile::tempdir().unwrap();
    let credentials = FileCredentials::new(directory.path().join("data/credentials.json"));
    Home { directory, credentials }
}

impl Home {
    fn path(&self) -> PathBuf {
        self.directory.path().join("data/credentials.json")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        fs::write(self.path(), text).unwrap();
    }
}

fn anthropic() -> CredentialName {
    CredentialName::Provider(Provider::Anthropic)
}

fn account(name: &str) -> CredentialName {
    CredentialName::Account(AccountName::new(name).unwrap())
}

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

async fn got(credentials: &FileCredentials, name: CredentialName) -> Option<String> {
    credentials.get(name).await.unwrap().map(|got| {
        assert_eq!(got.source, CredentialSource::File);
        got.secret.expose().to_owned()
    })
}

#[tokio::test]
async fn secrets_are_kept_apart_replaced_and_removed() {
    let Home { credentials, directory: _kept } = home();
    assert_eq!(got(&credentials, anthropic()).await, None);
    credentials.set(anthropic(), secret("one-0123456789")).await.unwrap();
    credentials.set(account("anthropic"), secret("two-0123456789")).await.unwrap();
    credentials.set(account("work"), secret("three-0123456789")).await.unwrap();
    credentials.set(anthropic(), secret("four-0123456789")).await.unwrap();
    assert_eq!(got(&credentials, anthropic()).await.as_deref(), Some("four-0123456789"));
    assert_eq!(got(&credentials, account("anthropic")).await.as_deref(), Some("two-0123456789"));
    credentials.remove(anthropic()).await.unwrap();
    credentials.remove(anthropic()).await.unwrap();
    assert_eq!(got(&credentials, anthropic()).await, None);
    assert_eq!(got(&credentials, account("work")).await.as_deref(), Some("three-0123456789"));
    assert_eq!(credentials.store(), "file");
}

#[tokio::test]
async fn the_file_is_its_owners_alone_and_so_is_its_directory() {
    let home = home();
    home.credentials.set(anthropic(), secret(KEY)).await.unwrap();
    assert_eq!(fs::metadata(home.path()).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(home.path().parent().unwrap()).unwrap().mode() & 0o7777, 0o700);
    // One that was laid open is closed with the next change.
    fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    home.credentials.set(account("work"), secret(KEY)).await.unwrap();
    assert_eq!(fs::metadata(home.path()).unwrap().mode() & 0o7777, 0o600);
}

#[tokio::test]
async fn the_file_is_replaced_and_never_written_in_place() {
    let home = home();
    home.credentials.set(anthropic(), secret(KEY)).await.unwrap();
    let before = fs::metadata(home.path()).unwrap().ino();
    let kept = home.directory.path().join("kept");
    fs::hard_link(home.path(), &kept).unwrap();
    let old = fs::read(&kept).unwrap();
    home.credentials.set(anthropic(), secret("other-0123456789")).await.unwrap();
    assert!(fs::metadata(home.path()).unwrap().ino() != before);
    assert_eq!(fs::read(&kept).unwrap(), old, "who has the old one open has all of it");
    let beside: Vec<_> = fs::read_dir(home.path().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside, ["credentials.json"], "nothing is left beside it");
}

#[tokio::test]
async fn a_link_in_its_place_is_replaced_and_not_written_through() {
    let home = home();
    home.write("");
    fs::remove_file(home.path()).unwrap();
    let elsewhere = home.directory.path().join("elsewhere");
    symlink(&elsewhere, home.path()).unwrap();
    home.credentials.set(anthropic(), secret(KEY)).await.unwrap();
    assert!(!elsewhere.exists());
    assert!(fs::symlink_metadata(home.path()).unwrap().is_file());
}

#[test]
fn a_write_that_fails_leaves_the_old_one_in_force() {
    const INSIDE: &str = "OWL_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // In a process of its own: no file may grow there.
        let name = "file::tests::a_write_that_fails_leaves_the_old_one_in_force";
        owl_testkit::run_again(name, &[(INSIDE, "1")]).unwrap();
        return;
    }
    // Blocked in this thread before the others are made of it: the write fails, the signal does not end the process.
    SigSet::from(Signal::SIGXFSZ).thread_block().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let home = home();
        home.credentials.set(anthropic(), secret(KEY)).await.unwrap();
        let before = fs::read(home.path()).unwrap();
        setrlimit(Resource::RLIMIT_FSIZE, 8, nix::sys::resource::RLIM_INFINITY).unwrap();
        let refused = home.credentials.set(anthropic(), secret("other-0123456789")).await.unwrap_err();
        assert!(refused.reason.contains("still in force"), "{refused}");
        assert!(home.credentials.remove(anthropic()).await.is_err());
        assert_eq!(got(&home.credentials, anthropic()).await.as_deref(), Some(KEY));
        assert_eq!(fs::read(home.path()).unwrap(), before);
        let beside = fs::read_dir(home.path().parent().unwrap()).unwrap().count();
        assert_eq!(beside, 1, "no half of a file is left beside it");
    });
}

#[tokio::test]
async fn a_file_that_owl_did_not_write_is_neither_used_nor_overwritten() {
    for (text, word) in [
        ("", "line 1"),
        ("{\"version\":1,\"providers\":{\"anthropic\":\"sk-planted-0123456789\"", "line 1"),
        ("{\"version\":1,\n\"providers\":\"sk-planted-0123456789\"}", "line 2"),
        ("{\"version\":1,\"sk-planted-0123456789\":{}}", "line 1"),
        ("{\"version\":2}", "version 2"),
        ("[\"sk-planted-0123456789\"]", "line 1"),
    ] {
        let home = home();
        home.write(text);
        for refused in [
            home.credentials.get(anthropic()).await.map(|_| ()),
            home.credentials.set(anthropic(), secret("other-0123456789")).await,
            home.credentials.remove(anthropic()).await,
        ] {
            let error = refused.expect_err(text);
            assert_eq!(error.store, home.path().display().to_string());
            assert!(error.reason.contains(word), "{text}: {error}");
            assert!(!format!("{error} {error:?}").contains("planted"), "{error:?}");
        }
        assert_eq!(fs::read_to_string(home.path()).unwrap(), text);
    }
}

#[tokio::test]
async fn what_is_no_key_in_the_file_is_refused_without_being_shown() {
    let home = home();
    home.write("{\"version\":1,\"providers\":{\"anthropic\":\"sk planted\"}}");
    let error = home.credentials.get(anthropic()).await.unwrap_err();
    assert!(error.reason.contains("anthropic") && !error.reason.contains("planted"), "{error}");
}

#[tokio::test]
async fn changes_at_the_same_moment_are_all_kept() {
    let home = home();
    let mut changes = tokio::task::JoinSet::new();
    for n in 0..20 {
        let credentials = home.credentials.clone();
        changes.spawn(async move { credentials.set(account(&format!("a{n}")), secret(KEY)).await.unwrap() });
    }
    changes.join_all().await;
    for n in 0..20 {
        assert_eq!(got(&home.credentials, account(&format!("a{n}"))).await.as_deref(), Some(KEY));
    }
}

#[test]
fn the_keychain_is_never_replaced_by_a_file_in_silence() {
    let wanted = crate::credentials(crate::Store::Keychain, PathBuf::from("/nowhere"));
    match wanted {
        Ok(credentials) => assert_eq!(credentials.store(), "keychain"),
        Err(error) => assert!(error.reason.contains("credentialStore: file"), "{error}"),
    }
    let file = crate::credentials(crate::Store::File, PathBuf::from("/nowhere")).map(|c| c.store());
    assert_eq!(file, Ok("file"));
}
