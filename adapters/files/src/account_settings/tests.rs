use super::*;
use pretty_assertions::assert_eq;
use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    sync::Barrier,
};
use tempfile::TempDir;

const DEFAULT: &[u8] = b"{\n  \"permissions\": {\n    \"allow\": [\"Edit\"]\n  }\n}\n";

fn account() -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("accounts/work");
    (home, directory)
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn with(content: &[u8]) -> (TempDir, PathBuf) {
    let (home, directory) = account();
    fs::create_dir_all(&directory).unwrap();
    fs::write(settings_file(&directory), content).unwrap();
    (home, directory)
}

fn said(content: &str) -> Result<AccountSettings, String> {
    let (_home, directory) = with(content.as_bytes());
    read(&directory).map(|settings| AccountSettings { bytes: Vec::new(), ..settings }).map_err(|error| {
        assert_eq!(error.file, settings_file(&directory).display().to_string());
        format!("{}:{} {}", error.line.unwrap(), error.column.unwrap(), error.key.unwrap_or_default())
    })
}

fn texts(entries: &[&str]) -> Vec<Entry> {
    entries.iter().map(|entry| Entry::Text((*entry).into())).collect()
}

#[test]
fn a_fresh_account_gets_the_default_whole_and_private() {
    let (_home, directory) = account();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::Now);
    let file = settings_file(&directory);
    assert_eq!(fs::read(&file).unwrap(), DEFAULT);
    assert_eq!((mode(&directory), mode(&file)), (0o700, 0o600));
    assert_eq!(names(&directory), [NAME]);
    let settings = read(&directory).unwrap();
    assert_eq!((settings.allow, settings.bytes.as_slice()), (texts(&["Edit"]), DEFAULT));
}

#[test]
fn what_is_there_is_never_written_whatever_it_is() {
    let (home, directory) = with(b"  { \"odd\" :1}");
    let file = settings_file(&directory);
    let before = fs::metadata(&file).unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::No);
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"  { \"odd\" :1}");
    assert_eq!(
        (before.ino(), before.mode(), before.mtime_nsec(), before.ctime_nsec()),
        (after.ino(), after.mode(), after.mtime_nsec(), after.ctime_nsec())
    );
    fs::remove_file(&file).unwrap();
    symlink(home.path().join("nowhere"), &file).unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::No);
    assert!(!home.path().join("nowhere").exists());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::No);
    assert_eq!(names(&file), Vec::<String>::new());
    fs::remove_dir(&file).unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::Now, "one that the user deleted is seeded again");
}

#[test]
fn of_many_that_seed_at_once_one_does_and_every_reader_sees_all_of_it() {
    let (_home, directory) = account();
    let barrier = Barrier::new(16);
    let default: Vec<u8> = [DEFAULT, &vec![b' '; 100_000]].concat();
    let seeded = std::thread::scope(|scope| {
        let seed_and_read = || {
            barrier.wait();
            let seeded = seed(&directory, &default).unwrap();
            assert_eq!(read(&directory).unwrap().bytes, default);
            seeded
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(seed_and_read)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(seeded.into_iter().filter(|seeded| *seeded == Seeded::Now).count(), 1);
    assert_eq!(names(&directory), [NAME]);
}

#[test]
fn a_file_that_appears_between_the_look_and_the_placing_stays() {
    let (_home, directory) = with(b"{}");
    let file = settings_file(&directory);
    // As if the look had found nothing: the placing itself does not replace.
    let temporary = written_beside(&file, &directory, DEFAULT).unwrap();
    let error = temporary.persist_noclobber(&file).unwrap_err();
    assert_eq!(error.error.kind(), io::ErrorKind::AlreadyExists);
    drop(error);
    assert_eq!(fs::read(&file).unwrap(), b"{}");
    assert_eq!(names(&directory), [NAME]);
}

#[test]
fn what_a_dead_daemon_left_neither_blocks_nor_misleads() {
    let (_home, directory) = account();
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(".owl-abc123.tmp"), "{ half").unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::Now);
    assert_eq!(read(&directory).unwrap().allow, texts(&["Edit"]));
}

#[test]
fn a_link_to_a_good_file_is_read_and_stays() {
    let (home, directory) = account();
    fs::create_dir_all(&directory).unwrap();
    fs::write(home.path().join("mine.json"), DEFAULT).unwrap();
    symlink(home.path().join("mine.json"), settings_file(&directory)).unwrap();
    assert_eq!(seed(&directory, DEFAULT).unwrap(), Seeded::No);
    assert_eq!(read(&directory).unwrap().allow, texts(&["Edit"]));
    assert!(settings_file(&directory).is_symlink());
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let (home, directory) = account();
    fs::create_dir_all(&directory).unwrap();
    let file = settings_file(&directory);
    let refused = || {
        let error = read(&directory).unwrap_err();
        assert_eq!(error.file, file.display().to_string());
        error.message
    };
    assert!(refused().starts_with("it cannot be read"));
    symlink(home.path().join("nowhere"), &file).unwrap();
    assert!(refused().starts_with("it cannot be read"));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(refused().contains("no regular file"));
    fs::remove_dir(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(refused().contains("no regular file"));
    fs::remove_file(&file).unwrap();
    fs::write(&file, vec![b' '; usize::try_from(FILE_BYTES).unwrap() + 1]).unwrap();
    assert!(refused().contains("more than"));
}

#[test]
fn the_lists_are_read_as_they_stand() {
    let settings = said(
        r#"{"permissions":{"allow":["Edit","Bash(git:*)","Read("],"ask":[],"deny":["WebFetch",5,null],
        "defaultMode":"plan","additionalDirectories":["/x"],"else":1},"model":"opus","unknown":{"a":[1e999]}}"#,
    );
    let deny = vec![Entry::Text("WebFetch".into()), Entry::Other("5".into()), Entry::Other("null".into())];
    assert_eq!(
        settings,
        Ok(AccountSettings {
            allow: texts(&["Edit", "Bash(git:*)", "Read("]),
            ask: Vec::new(),
            deny,
            default_mode: Some("plan".into()),
            bytes: Vec::new(),
        })
    );
    for nothing in ["{}", r#"{"permissions":{}}"#, r#"{"permissions":{"allow":[]}}"#, "\n{ }\n"] {
        assert_eq!(said(nothing), Ok(AccountSettings::default()), "{nothing}");
    }
}

#[test]
fn a_mark_a_doubled_key_and_text_that_is_not_utf8_are_read_as_the_tool_reads_them() {
    assert_eq!(said("\u{feff}{\"permissions\":{\"allow\":[\"Edit\"]}}").unwrap().allow, texts(&["Edit"]));
    let doubled = r#"{"permissions":5,"permissions":{"allow":5,"allow":["Read"]}}"#;
    assert_eq!(said(doubled).unwrap().allow, texts(&["Read"]));
    let escaped = r#"{"permi\u0073sions":{"allow":["R\u0065ad"]}}"#;
    assert_eq!(said(escaped).unwrap().allow, texts(&["Read"]));
    let (_home, directory) = with(b"{\"permissions\":{\"allow\":[\"Ed\xffit\"]}}");
    assert_eq!(read(&directory).unwrap().allow, texts(&["Ed\u{fffd}it"]));
}

#[test]
fn what_the_tool_would_drop_the_file_for_is_refused_with_its_place() {
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
        assert_eq!(said(content), Err(place.into()), "{content}");
    }
}
