//! A settings file that is there is opened for writing by nobody, as the kernel sees it (ADR-0035, D19).

use super::bench::{Bench, bash, write};
use nix::{
    errno::Errno,
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};
use serde_json::json;
use std::{
    fs::{self, File},
    path::Path,
};

/// Hears of everything that changes a file, or could: also that it was opened for writing and nothing was written.
pub(crate) struct Watched(Inotify);

impl Watched {
    pub(crate) fn begin(file: &Path) -> Self {
        let watch = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).unwrap();
        let changes = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_ATTRIB
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_MOVE_SELF;
        watch.add_watch(file, changes).unwrap();
        Self(watch)
    }

    /// What was heard since it was last asked.
    pub(crate) fn heard(&self) -> Vec<AddWatchFlags> {
        match self.0.read_events() {
            Ok(events) => events.into_iter().map(|event| event.mask).collect(),
            Err(Errno::EAGAIN) => Vec::new(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Everything that Owl does with an Account's list: says what is in force, runs, runs again, starts anew, runs.
async fn use_it(mut bench: Bench) -> Bench {
    for question in ["permissions", "show"] {
        assert_eq!(bench.owl(&["account", question, "work"]).await.code, Some(0));
    }
    bench.script(json!([write("a.txt", "a\n"), bash("curl x")]));
    let (job, _) = bench.ran("Write a").await;
    bench.again(&job).await;
    let mut bench = bench.crash().await;
    bench.again(&job).await;
    bench
}

#[tokio::test]
async fn a_users_own_file_is_opened_for_writing_by_nobody() {
    let bench = Bench::new().await;
    fs::write(bench.settings(), r#"{"permissions":{"allow":["Write"]}}"#).unwrap();
    let watched = Watched::begin(&bench.settings());
    let bench = use_it(bench).await;
    assert_eq!(watched.heard(), []);
    drop(File::options().append(true).open(bench.settings()).unwrap());
    assert_eq!(watched.heard(), [AddWatchFlags::IN_CLOSE_WRITE], "it would have been heard");
}

#[tokio::test]
async fn once_it_is_seeded_the_file_is_opened_for_writing_by_nobody() {
    let mut bench = Bench::new().await;
    bench.script(json!([write("a.txt", "a\n")]));
    bench.ran("Write a").await;
    let watched = Watched::begin(&bench.settings());
    let _bench = use_it(bench).await;
    assert_eq!(watched.heard(), []);
}
