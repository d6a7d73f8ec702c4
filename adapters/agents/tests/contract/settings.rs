//! C9, C15: the Account's file is read as Owl foretells it, and is never changed.

use crate::bench::{Bench, Call, Scenario, bash, denied_tools, lines_of, subjects, write};
use owl_domain::permissions::default_list::DEFAULT_LIST;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

/// What the tool makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    /// Dropped whole, without a word.
    Dropped,
    /// Read.
    Read,
    /// Read, and it allows nothing.
    Empty,
}

/// A file that is there and was not read is an error before any rule is looked at, on older versions.
fn forget_note(bench: &Bench) {
    fs::remove_file(bench.worktree().join("NOTE.txt")).unwrap_or_default();
}

#[tokio::test]
async fn c9_each_kind_of_file_is_dropped_or_read_as_owl_says() {
    let good = json!({ "allow": DEFAULT_LIST }).to_string();
    // What stands beside good lists, and inside of them.
    let beside = [
        ("\"model\":5", Is::Dropped),
        ("\"cleanupPeriodDays\":\"x\"", Is::Dropped),
        ("\"cleanupPeriodDays\":-1", Is::Dropped),
        ("\"includeCoAuthoredBy\":\"yes\"", Is::Dropped),
        ("\"alwaysThinkingEnabled\":\"x\"", Is::Dropped),
        ("\"statusLine\":5", Is::Dropped),
        ("\"outputStyle\":5", Is::Dropped),
        ("\"language\":5", Is::Dropped),
        ("\"$schema\":5", Is::Dropped),
        ("\"sandbox\":5", Is::Dropped),
        ("\"attribution\":5", Is::Dropped),
        // `"hooks":{"PreToolUse":"x"}` is dropped by 2.1.332 and read by 2.1.197: Owl refuses it for both.
        ("\"cleanupPeriodDays\":30,\"includeCoAuthoredBy\":false,\"hooks\":{},\"env\":{}", Is::Read),
    ];
    let inside = [
        ("\"additionalDirectories\":[5]", Is::Dropped),
        ("\"disableBypassPermissionsMode\":\"yes\"", Is::Dropped),
        ("\"disableBypassPermissionsMode\":\"disable\"", Is::Read),
    ];
    let mut cases: Vec<(String, Is)> = vec![
        (String::new(), Is::Dropped),
        (format!("// mine\n{{\"permissions\":{good}}}"), Is::Dropped),
        (format!("{{\"permissions\":{good},}}"), Is::Dropped),
        ("not json".into(), Is::Dropped),
        ("[]".into(), Is::Dropped),
        (r#"{"permissions":null}"#.into(), Is::Dropped),
        (r#"{"permissions":{"allow":"Write"}}"#.into(), Is::Dropped),
        (r#"{"permissions":{"allow":["Write","Bash(make:*)"],"deny":"x"}}"#.into(), Is::Dropped),
        (r#"{"permissions":{"allow":["Write","Bash(make:*)"],"defaultMode":"yolo"}}"#.into(), Is::Dropped),
        (format!("\u{feff}{{\"permissions\":{good}}}"), Is::Read),
        (format!("{{\"permissions\":{{\"allow\":[]}},\"permissions\":{good}}}"), Is::Read),
        (format!("{{\"permissions\":{good},\"somethingElse\":{{}}}}"), Is::Read),
        (r#"{"permissions":{"allow":[5,"Write","Bash(rm","Bash(make:*)"]}}"#.into(), Is::Read),
        ("{}".into(), Is::Empty),
        (r#"{"permissions":{"allow":[]}}"#.into(), Is::Empty),
    ];
    cases.extend(beside.map(|(more, is)| (format!("{{\"permissions\":{good},{more}}}"), is)));
    cases.extend(
        inside.map(|(more, is)| (format!("{{\"permissions\":{{\"allow\":[\"Write\",\"Bash(make:*)\"],{more}}}}}"), is)),
    );
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        for (text, is) in &cases {
            let scenario = Scenario::calls(&[write("NOTE.txt"), bash("make x")]);
            let api = bench.prepare(&scenario);
            fs::write(bench.config().join("settings.json"), text).unwrap();
            forget_note(&bench);
            let output = bench.bare(&bench.words(&scenario).await, &api).await;
            let denied = denied_tools(&lines_of(&output));
            match (is, bench.is_stub()) {
                (Is::Read, _) => assert_eq!((output.exit_code, denied.len()), (Some(0), 0), "{text} with {subject:?}"),
                (Is::Dropped | Is::Empty, true) => assert_eq!(output.exit_code, Some(97), "{text}"),
                (Is::Dropped | Is::Empty, false) => {
                    assert_eq!((output.exit_code, denied.len()), (Some(0), 2), "{text} with {subject:?}");
                    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
                    assert!(!said.contains("settings.json"), "and it says no word about it: {said}");
                }
            }
        }
    }
}

#[tokio::test]
async fn c9_a_link_to_a_good_file_is_read_and_one_to_nothing_is_as_if_absent() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let scenario = Scenario::calls(&[write("NOTE.txt")]);
        let api = bench.prepare(&scenario);
        let (file, target) = (bench.config().join("settings.json"), bench.home.path().join("mine.json"));
        fs::rename(&file, &target).unwrap();
        symlink(&target, &file).unwrap();
        let output = bench.bare(&bench.words(&scenario).await, &api).await;
        assert_eq!((output.exit_code, denied_tools(&lines_of(&output)).len()), (Some(0), 0), "{subject:?}");
        assert!(file.is_symlink());
        fs::remove_file(&target).unwrap();
        forget_note(&bench);
        let output = bench.bare(&bench.words(&scenario).await, &api).await;
        if bench.is_stub() {
            assert_eq!(output.exit_code, Some(97));
        } else {
            assert_eq!((output.exit_code, denied_tools(&lines_of(&output)).len()), (Some(0), 1), "{subject:?}");
        }
    }
}

#[tokio::test]
async fn c15_the_accounts_file_is_as_before_and_two_runs_at_once_do_not_disturb_it() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let scenario = Scenario::calls(&[bash("git status"), bash("curl x")]);
        let _api = bench.prepare(&scenario);
        let file = bench.config().join("settings.json");
        let before = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap());
        let flag = crate::bench::Flag::new();
        let (one, two) = (bench.start(&scenario, flag.clone()).await, bench.start(&scenario, flag.clone()).await);
        let (one, two) = tokio::join!(bench.watch(one), bench.watch(two));
        for seen in [one, two] {
            assert_eq!(seen.calls(), [Call::Ran, Call::Denied], "{subject:?}");
        }
        let after = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap());
        assert_eq!(before.0, after.0);
        assert_eq!(
            (before.1.ino(), before.1.mtime_nsec(), before.1.mode()),
            (after.1.ino(), after.1.mtime_nsec(), after.1.mode())
        );
    }
}
