//! `owl demo`: one whole conversation, as a desktop app would hold it, with a daemon of its own in a temporary home
//! (D6). Everything is real but the model; nothing is asked, and the repository is not touched.

mod repository;
mod stage;

use crate::{
    cli::{Failed, Out, note},
    config::{
        daemon::{Config, LogLevel},
        places::Places,
    },
    daemon::{lifecycle::Running, telemetry},
};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use stage::Stage;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Leave the temporary home for inspection, and print where it is
    #[arg(long)]
    keep: bool,
}

/// Shows the conversation. Its home is the caller's, to be dropped when nothing of this can write there any more.
pub(crate) async fn run(demo: &Demo, out: &mut Out, kept: &mut Option<TempDir>) -> Result<(), Failed> {
    // Before anything is made that would be left behind.
    let mut stopped = Stopped::new().map_err(Failed::Broken)?;
    let private = std::fs::Permissions::from_mode(0o700);
    let home = tempfile::Builder::new().prefix("owl-demo-").permissions(private).tempdir();
    let mut home = home.context("no temporary directory could be made").map_err(Failed::Broken)?;
    home.disable_cleanup(demo.keep);
    let home = kept.insert(home);
    let places = Places::below(home.path());
    telemetry::start(LogLevel::Error);
    let daemon = Running::start(&Config::default(), places.clone()).await?;
    let shown = tokio::select! {
        shown = show(&places, home.path(), out) => shown,
        () = stopped.told() => Err(Failed::Refused("the demo was stopped before its end".into())),
    };
    tokio::select! {
        () = daemon.stop() => {}
        // A second signal means: now.
        () = stopped.told() => {}
    }
    if shown.is_err() && demo.keep {
        note(&format!("The home of this demo is kept at {}.", home.path().display()));
    }
    shown?;
    if demo.keep {
        stage::say(out, &format!("The home of this demo is kept at {}.", home.path().display()))?;
    }
    Ok(())
}

/// What ends a demo before its end.
struct Stopped {
    terminate: Signal,
    interrupt: Signal,
}

impl Stopped {
    fn new() -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
        let interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be waited for")?;
        Ok(Self { terminate, interrupt })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn show(places: &Places, home: &std::path::Path, out: &mut Out) -> Result<(), Failed> {
    let mut stage = Stage::connect(&places.socket, out).await?;

    stage.say(
        "A daemon listens on a socket of its own. Every line below crossed it: → from the client, ← from the daemon.",
    )?;
    let workdir = repository::register(&mut stage, home).await?;

    stage.say(
        "A conversation in that repository, with the offline model. The client watches it from its first event.",
    )?;
    let model = json!({ "provider": "demo", "id": "tour" });
    let made = stage.call("conversations.create", json!({ "workdir": workdir, "model": model })).await?;
    let conversation = made["id"].clone();
    let watch = json!({ "conversation_id": conversation, "after_seq": 0 });
    let subscription = stage.call("chat.subscribe", watch).await?;
    stage.until("stream.live").await?;

    stage.say("1. A question. The model wants to look, and proposes a command. Nothing has run: a person sees exactly what would.")?;
    let ask = |text: &str| json!({ "conversation_id": conversation, "text": text });
    stage.call("chat.send", ask("What happened here lately?")).await?;
    let proposal = stage.until("proposal.created").await?["proposal"].clone();
    stage.say(
        "The person allows it, once. The answer names the digest of what was shown, so that nothing else can run.",
    )?;
    let allow = json!({ "proposal_id": proposal["id"], "decision": "allow", "digest": proposal["digest"], "conversation_id": conversation });
    stage.call("consent.answer", allow).await?;
    stage.until("turn.finished").await?;

    stage.say(
        "So that the rest is shorter, the client now asks for stored events alone, without the words as they come.",
    )?;
    stage.call("chat.unsubscribe", json!({ "subscription": subscription })).await?;
    let watch = |seen: i64| json!({ "conversation_id": conversation, "after_seq": seen, "deltas": false });
    stage.call("chat.subscribe", watch(stage.last_seq())).await?;

    stage.say("2. Another question, another proposal. This time the person says no, and the model is told so, with the reason.")?;
    stage.call("chat.send", ask("Is anything left to do?")).await?;
    let proposal = stage.until("proposal.created").await?["proposal"].clone();
    let deny = json!({ "proposal_id": proposal["id"], "decision": "deny", "reason": "not now" });
    stage.call("consent.answer", deny).await?;
    stage.until("turn.finished").await?;

    stage.say("3. The model asks for something that is not in the gate's table. It is denied, and nobody is asked.")?;
    stage.call("chat.send", ask("Please publish it.")).await?;
    stage.until("turn.finished").await?;

    stage.say("4. The client loses its connection while a proposal waits. The daemon keeps what it missed.")?;
    stage.call("chat.send", ask("What happened here lately?")).await?;
    let seen = stage.last_seq();
    stage.reconnect(&places.socket).await?;
    stage.say("Connected anew, the client names the last event that it has seen, and misses nothing.")?;
    stage.call("chat.subscribe", watch(seen)).await?;
    let proposal = stage.until("proposal.created").await?["proposal"].clone();
    stage.say("The proposal still waits. The person allows it, and later ones like it in this conversation.")?;
    let remember = json!({ "proposal_id": proposal["id"], "decision": "allow", "remember": "conversation" });
    stage.call("consent.answer", remember).await?;
    stage.until("turn.finished").await?;

    stage.say("That is all. To use it for real: `owl daemon run`, `owl project add PATH`, `owl provider add anthropic < key.txt`.")
}
