use super::*;
use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{SigSet, Signal},
};
use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    sync::Arc,
};
use tempfile::TempDir;

/// One Account's file, and what reads it.
struct One {
    home: TempDir,
    settings: HostAccountSettings,
    name: AccountName,
    directory: PathBuf,
    file: PathBuf,
}

impl One {
    fn fresh() -> Self {
        let home = TempDir::new().unwrap();
        let accounts = home.path().join("accounts");
        let settings = HostAccountSettings::new(AbsPath::new(accounts.to_str().unwrap()).unwrap());
        let directory = accounts.join("work");
        Self { home, settings, name: AccountName::new("work").unwrap(), file: directory.join(NAME), directory }
    }

    fn with(content: impl AsRef<[u8]>) -> Self {
        let one = Self::fresh();
        fs::create_dir_all(&one.directory).unwrap();
        fs::write(&one.file, content).unwrap();
        one
    }

    async fn seed(&self) -> Result<AccountList, SettingsError> {
        self.settings.read_or_seed(&self.name).await
    }

    /// Reads what is there, and writes down where it is wrong.
    async fn said(&self) -> Result<AccountList, String> {
        match self.settings.read(&self.name).await {
            Ok(list) => Ok(list.unwrap()),
            Err(SettingsError::Unreadable { file, key, line, column, message }) => {
                assert_eq!(file, self.file.display().to_string());
                let (Some(line), Some(column)) = (line, column) else { return Err(message) };
                Err(format!("{line}:{column} {}", key.unwrap_or_default()))
            }
            Err(other) => panic!("{other}"),
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_fresh_account_gets_the_default_whole_and_private() {
    let one = One::fresh();
    assert!(!one.settings.is_present(&one.name).await);
    assert_eq!(one.settings.read(&one.name).await, Ok(None));
    one.settings.make_directory(&one.name).await.unwrap();
    assert_eq!(names(&one.directory), Vec::<String>::new());
    let list = one.seed().await.unwrap();
    assert_eq!(fs::read_to_string(&one.file).unwrap(), settings_text());
    assert_eq!((mode(&one.directory), mode(&one.file)), (0o700, 0o600));
    assert_eq!(names(&one.directory), [NAME]);
    assert!(list.seeded && list.ignored.is_empty() && list.deny.is_empty() && list.default_mode.is_none());
    assert_eq!(list.allow, owl_domain::permissions::default_list::DEFAULT_LIST);
    assert_eq!(list.file.as_str(), one.file.to_str().unwrap());
    // Known from another tool: `printf '{}' | sha256sum`.
    fs::write(&one.file, "{}").unwrap();
    let list = one.seed().await.unwrap();
    assert_eq!(list.sha256, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert!(!list.seeded && list.allow.is_empty());
}

#[tokio::test]
async fn what_is_there_is_never_written_whatever_it_is() {
    let one = One::with("  { \"odd\" :1}");
    let stat = || {
        let there = fs::metadata(&one.file).unwrap();
        (there.ino(), there.mode(), there.mtime(), there.mtime_nsec(), there.ctime(), there.ctime_nsec())
    };
    let before = stat();
    assert!(!one.seed().await.unwrap().seeded);
    assert_eq!(fs::read(&one.file).unwrap(), b"  { \"odd\" :1}");
    assert_eq!(before, stat());
    fs::remove_file(&one.file).unwrap();
    symlink(one.home.path().join("nowhere"), &one.file).unwrap();
    assert!(one.seed().await.is_err() && one.settings.is_present(&one.name).await);
    assert!(!one.home.path().join("nowhere").exists());
    fs::remove_file(&one.file).unwrap();
    fs::create_dir(&one.file).unwrap();
    assert!(one.seed().await.is_err());
    assert_eq!(names(&one.file), Vec::<String>::new());
    fs::remove_dir(&one.file).unwrap();
    assert!(one.seed().await.unwrap().seeded, "one that the user deleted is seeded again");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_seed_at_once_one_does_and_every_one_reads_all_of_it() {
    let one = Arc::new(One::fresh());
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let one = Arc::clone(&one);
            tokio::spawn(async move { one.seed().await.unwrap() })
        })
        .collect();
    let mut seeded = 0;
    for task in tasks {
        let list = task.await.unwrap();
        assert_eq!(list.allow.len(), 15);
        seeded += u32::from(list.seeded);
    }
    assert_eq!(seeded, 1);
    assert_eq!(names(&one.directory), [NAME]);
}

#[test]
fn a_file_that_appears_between_the_look_and_the_placing_stays() {
    let one = One::with("{}");
    // As if the look had found nothing: the placing itself does not replace.
    let temporary = written_beside(&one.file, &one.directory, b"default").unwrap();
    let error = temporary.persist_noclobber(&one.file).unwrap_err();
    assert_eq!(error.error.kind(), io::ErrorKind::AlreadyExists);
    drop(error);
    assert_eq!(fs::read(&one.file).unwrap(), b"{}");
    assert_eq!(names(&one.directory), [NAME]);
}

#[tokio::test]
async fn what_a_dead_daemon_left_neither_blocks_nor_misleads() {
    let one = One::fresh();
    fs::create_dir_all(&one.directory).unwrap();
    fs::write(one.directory.join(".owl-abc123.tmp"), "{ half").unwrap();
    assert!(one.seed().await.unwrap().seeded);
}

#[test]
fn a_disk_that_is_full_leaves_no_file_and_no_half_of_one() {
    const INSIDE: &str = "OWL_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // In a process of its own: no file may grow there.
        let name = "account_settings::tests::a_disk_that_is_full_leaves_no_file_and_no_half_of_one";
        owl_testkit::run_again(name, &[(INSIDE, "1")]).unwrap();
        return;
    }
    // Blocked in this thread before the others are made of it: the write fails, the signal does not end the process.
    SigSet::from(Signal::SIGXFSZ).thread_block().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let one = One::fresh();
        let (_, most) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
        setrlimit(Resource::RLIMIT_FSIZE, 8, most).unwrap();
        let refused = one.seed().await.unwrap_err();
        let SettingsError::Unwritable { file, message } = &refused else { panic!("{refused}") };
        assert_eq!(*file, one.file.display().to_string());
        assert!(message.contains("cannot be written"), "{message}");
        assert_eq!(names(&one.directory), Vec::<String>::new());
        setrlimit(Resource::RLIMIT_FSIZE, most, most).unwrap();
        assert!(one.seed().await.unwrap().seeded, "with room again it is seeded as if nothing had been");
    });
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let one = One::fresh();
    fs::write(one.home.path().join("accounts"), "").unwrap();
    let Err(SettingsError::Unwritable { file, message }) = one.settings.make_directory(&one.name).await else {
        panic!("it was made");
    };
    assert_eq!(file, one.directory.display().to_string());
    assert!(message.contains("cannot be created: "), "{message}");
    assert!(matches!(one.seed().await, Err(SettingsError::Unwritable { .. })));
}

#[tokio::test]
async fn a_link_to_a_good_file_is_read_and_stays() {
    let one = One::fresh();
    fs::create_dir_all(&one.directory).unwrap();
    fs::write(one.home.path().join("mine.json"), "{\"permissions\":{\"allow\":[\"Edit\"]}}").unwrap();
    symlink(one.home.path().join("mine.json"), &one.file).unwrap();
    assert_eq!(one.seed().await.unwrap().allow, ["Edit"]);
    assert!(one.file.is_symlink());
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_by_name() {
    let one = One::fresh();
    fs::create_dir_all(&one.directory).unwrap();
    let refused = async || one.said().await.unwrap_err();
    symlink(one.home.path().join("nowhere"), &one.file).unwrap();
    assert!(refused().await.starts_with("it cannot be read"));
    fs::remove_file(&one.file).unwrap();
    fs::create_dir(&one.file).unwrap();
    assert!(refused().await.contains("no regular file"));
    fs::remove_dir(&one.file).unwrap();
    nix::unistd::mkfifo(&one.file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(refused().await.contains("no regular file"));
    fs::remove_file(&one.file).unwrap();
    fs::write(&one.file, vec![b' '; usize::try_from(FILE_BYTES).unwrap() + 1]).unwrap();
    assert!(refused().await.contains("more than"));
}

#[tokio::test]
async fn the_lists_are_read_as_they_stand_and_what_the_tool_skips_is_told() {
    let list = One::with(
        r#"{"permissions":{"allow":["Edit","Bash(git:*)","Read("],"ask":[],"deny":["WebFetch",5,null],
        "defaultMode":"plan","additionalDirectories":["/x"],"else":1},"model":"opus","unknown":{"a":[1e999]}}"#,
    );
    let list = list.said().await.unwrap();
    assert_eq!(list.allow, ["Edit", "Bash(git:*)", "Read("]);
    assert_eq!((list.ask, list.deny), (Vec::new(), vec!["WebFetch".to_owned()]));
    assert_eq!(list.default_mode.as_deref(), Some("plan"));
    let ignored: Vec<_> = list.ignored.into_iter().map(|ignored| ignored.rule).collect();
    assert_eq!(ignored, ["Read(", "5", "null"]);
    for nothing in ["{}", r#"{"permissions":{}}"#, r#"{"permissions":{"allow":[]}}"#, "\n{ }\n"] {
        assert_eq!(One::with(nothing).said().await.unwrap().allow, Vec::<String>::new(), "{nothing}");
    }
}

#[tokio::test]
async fn a_mark_a_doubled_key_and_text_that_is_not_utf8_are_read_as_the_tool_reads_them() {
    for (content, allow) in [
        (b"\xef\xbb\xbf{\"permissions\":{\"allow\":[\"Edit\"]}}".as_slice(), "Edit"),
        (br#"{"permissions":5,"permissions":{"allow":5,"allow":["Read"]}}"#, "Read"),
        (br#"{"permi\u0073sions":{"allow":["R\u0065ad"]}}"#, "Read"),
        (b"{\"permissions\":{\"allow\":[\"Ed\xffit\"]}}", "Ed\u{fffd}it"),
    ] {
        assert_eq!(One::with(content).said().await.unwrap().allow, [allow]);
    }
}

#[tokio::test]
async fn what_the_tool_would_drop_the_file_for_is_refused_with_its_place() {
    for (content, place) in [
        ("", "1:1 "),
        ("  \n", "1:1 "),
        ("{", "1:1 "),
        ("{} x", "1:4 "),
        ("{\n  // mine\n}", "2:3 "),
        ("{\"a\":1,\n}", "2:1 "),
        ("{\"permissions\":{\"allow\":[\n\"Edit\",\n]}}", "3:1 "),
        ("{'a':1}", "1:2 "),
        ("[]", "1:1 the file"),
        (" \"text\"", "1:2 the file"),
        ("null", "1:1 the file"),
        ("{\n \"permissions\": null}", "2:17 permissions"),
        ("{\"permissions\": []}", "1:17 permissions"),
        ("{\"permissions\":{\n\"allow\": \"Edit\"}}", "2:10 permissions.allow"),
        ("{\"permissions\":{\"additionalDirectories\":[5]}}", "1:41 permissions.additionalDirectories"),
        ("{\"permissions\":{\"disableBypassPermissionsMode\":1}}", "1:48 permissions.disableBypassPermissionsMode"),
        ("{\"cleanupPeriodDays\":-1}", "1:22 cleanupPeriodDays"),
        ("{\"cleanupPeriodDays\":\"1\"}", "1:22 cleanupPeriodDays"),
        ("{\"includeCoAuthoredBy\":\"yes\"}", "1:24 includeCoAuthoredBy"),
        ("{\"statusLine\":5}", "1:15 statusLine"),
        ("{\"hooks\":{\"PreToolUse\":{}}}", "1:10 hooks"),
        ("{\"permissions\":{\"allow\": null}}", "1:26 permissions.allow"),
        ("{\"permissions\":{\"deny\":{}}}", "1:24 permissions.deny"),
        ("{\"permissions\":{\"ask\":true}}", "1:23 permissions.ask"),
        ("{\"permissions\":{\"additionalDirectories\":\"x\"}}", "1:41 permissions.additionalDirectories"),
        ("{\"permissions\":{\"defaultMode\":\"yolo\"}}", "1:31 permissions.defaultMode"),
        ("{\"permissions\":{\"defaultMode\":7}}", "1:31 permissions.defaultMode"),
        ("{\"ü\":\"ü\",\"model\": 5}", "1:19 model"),
        ("{\"env\": []}", "1:9 env"),
        ("{\"hooks\": \"x\"}", "1:11 hooks"),
    ] {
        let said = One::with(content).said().await;
        assert_eq!(said, Err(place.into()), "{content}");
    }
}
