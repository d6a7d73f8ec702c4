//! B14: from a person's answer to the end of the command, beside the same program simply started.

use crate::{
    owl,
    report::{Report, percentile},
    runtime, spawn,
};
use owl_testkit::{Client, Daemon, Home, repo::TempRepo};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const TURNS: usize = 25;
const COMMANDS: usize = 16;

pub(crate) fn rows(report: &mut Report) {
    if !report.wants("B14") {
        return;
    }
    let runtime = runtime();
    runtime.block_on(async {
        let home = Home::new();
        let repo = TempRepo::with_commit();
        for n in 0..5 {
            repo.commit_file("README.md", format!("line {n}\n"));
        }
        let daemon = Daemon::start(owl(), &home).await;
        let mut client = daemon.connect().await;
        client.unchecked();
        let project = client.ok("projects.add", json!({ "path": repo.root() })).await;
        let model = json!({ "provider": "demo", "id": "tour" });
        let made = client.ok("conversations.create", json!({ "workdir": project["path"], "model": model })).await;
        client.ok("chat.subscribe", json!({ "conversation_id": made["id"], "deltas": false })).await;
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let text = "run: git log --oneline -n 3\n".repeat(COMMANDS);
            client.ok("chat.send", json!({ "conversation_id": made["id"], "text": text })).await;
            let mut proposals = Vec::new();
            while proposals.len() < COMMANDS {
                proposals.push(client.event_of("proposal.created").await["proposal"].clone());
            }
            for proposal in proposals {
                ours.push(answered(&mut client, &proposal).await);
                bare.push(spawn::run(&proposal["command"], proposal["workdir"].as_str().unwrap()));
            }
            client.event_of("turn.finished").await;
        }
        let (ours, bare) = (percentile(ours, 50), percentile(bare, 50));
        let budget = bare.mul_f64(1.25) + Duration::from_millis(2);
        let beside = format!("posix_spawn {bare:.2?}");
        let what = "answer to command.finished, p50";
        report.number("B14", what, ours <= budget, &format!("{ours:.2?}"), &beside, &format!("<= {budget:.2?}"));
        daemon.terminate().await;
    });
}

async fn answered(client: &mut Client, proposal: &Value) -> Duration {
    let start = Instant::now();
    client.ok("consent.answer", json!({ "proposal_id": proposal["id"], "decision": "allow" })).await;
    client.event_of("command.finished").await;
    start.elapsed()
}
