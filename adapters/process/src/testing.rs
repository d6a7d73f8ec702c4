//! What the tests of this crate share: Stops that are told, a probe program, a way to say aloud what was skipped.

use crate::own::OwnCommand;
use async_trait::async_trait;
use owl_domain::ports::Stop;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::sync::watch;

/// A Stop that is told by [`Flag::tell`].
#[derive(Debug)]
pub(crate) struct Flag(watch::Sender<bool>);

impl Flag {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(false)))
    }

    pub(crate) fn tell(&self) {
        self.0.send_replace(true);
    }
}

#[async_trait]
impl Stop for Flag {
    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    async fn stopped(&self) {
        self.0.subscribe().wait_for(|told| *told).await.unwrap();
    }
}

/// A shell script as a program of Owl's own, with nothing in its environment but PATH.
pub(crate) fn script(text: &str, cwd: &Path) -> OwnCommand {
    OwnCommand {
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), text.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: cwd.to_owned(),
        deadline: Duration::from_secs(60),
        max_bytes: 1024 * 1024,
    }
}

/// Says whether a process exists that is not dead already.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X') | None)
}

/// Waits until something holds, looking again and again; gives up after a minute.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what}: not within a minute");
}
