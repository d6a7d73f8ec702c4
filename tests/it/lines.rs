//! Many command lines through one daemon: explained, or proposed, allowed and run, sixteen to a Turn and several
//! Conversations at a time. Whatever a client is told may not hold a planted secret.

use crate::support::{allow, ask, conversation, owl};
use owl_testkit::{
    Client, Daemon, Home, Seen,
    kernel::guards,
    repo::{CANARY, plain},
};
use serde_json::{Value, json};
use std::path::Path;

/// As many as one reply may ask for.
const PER_TURN: usize = 16;
/// As many as are looked at beside each other.
const CONVERSATIONS: usize = 4;

/// A daemon with Projects.
pub(crate) struct Daemons {
    pub(crate) daemon: Daemon,
    _home: Home,
}

/// Starts a daemon and registers directories by their own names.
pub(crate) async fn daemon(yaml: &str, variables: &[(&str, &str)], projects: &[&Path]) -> Daemons {
    let home = Home::new();
    home.configure(&format!("apiVersion: codingowl.dev/v1\n{yaml}"));
    let daemon = Daemon::start_with(owl(), &home, variables).await;
    let mut client = daemon.connect().await;
    for path in projects {
        let name = path.file_name().unwrap().to_str().unwrap();
        client.ok("projects.add", json!({ "path": path, "name": name })).await;
    }
    Daemons { daemon, _home: home }
}

/// Says whether commands run under the whole wall here; where not, says so aloud.
#[expect(clippy::print_stderr, reason = "what is skipped is said aloud")]
pub(crate) async fn has_the_wall(client: &mut Client) -> bool {
    let confinement = client.ok("system.info", json!({})).await["confinement"]["kind"].clone();
    let whole = confinement == "gate+landlock+seccomp";
    let here = guards();
    assert!(whole || !(here.landlock && here.seccomp), "this kernel has {here:?}, and Owl takes {confinement}");
    if !whole {
        eprintln!("SKIPPED: commands run under {confinement} here, so what the kernel's wall stops is not tried");
    }
    whole
}

/// Explains lines; returns each with the kind of its Denial, none when it is allowed.
pub(crate) async fn verdicts(client: &mut Client, workdir: &Path, lines: &[&str]) -> Vec<(String, Option<String>)> {
    let mut verdicts = Vec::new();
    for line in lines {
        let said = client.ok("policy.explain", json!({ "command": line, "workdir": workdir })).await;
        let kind = match said["verdict"].as_str().unwrap() {
            "allowed" => None,
            _ => Some(said["denial"]["kind"].as_str().unwrap().to_owned()),
        };
        verdicts.push(((*line).to_owned(), kind));
    }
    verdicts
}

/// Has the model ask for every line, allows what is proposed, and returns each line with its command's Item.
pub(crate) async fn run(daemon: &Daemon, workdir: &Path, lines: &[&str]) -> Vec<(String, Value)> {
    let mut tasks = Vec::new();
    for part in 0..CONVERSATIONS {
        let mut client = daemon.connect().await;
        client.watch = Some(Box::new(|seen| {
            let (Seen::Result(what, told) | Seen::Error(what, told) | Seen::Event(what, told)) = seen;
            assert!(!told.to_string().contains(CANARY), "{what}: {told}");
        }));
        let lines: Vec<String> =
            lines.iter().skip(part).step_by(CONVERSATIONS).map(|line| (*line).to_owned()).collect();
        let workdir = workdir.to_str().unwrap().to_owned();
        tasks.push(tokio::spawn(async move { run_in_one(&mut client, &workdir, &lines).await }));
    }
    let mut items = Vec::new();
    for task in tasks {
        items.extend(task.await.unwrap());
    }
    items
}

async fn run_in_one(client: &mut Client, workdir: &str, lines: &[String]) -> Vec<(String, Value)> {
    let mut items = Vec::new();
    let id = conversation(client, workdir).await;
    for turn in lines.chunks(PER_TURN) {
        let asked: Vec<&str> = turn.iter().map(String::as_str).collect();
        ask(client, &id, &asked).await;
        let mut left = turn.len();
        while left > 0 {
            let event = client.event().await;
            match event["type"].as_str().unwrap() {
                "proposal.created" => {
                    allow(client, &event["proposal"]).await;
                }
                "item.completed" if event["item"]["kind"] == "command" => {
                    left -= 1;
                    items.push((event["item"]["requested"].as_str().unwrap().to_owned(), event["item"].clone()));
                }
                "turn.finished" => panic!("the Turn ended with {left} commands left: {event}"),
                _ => {}
            }
        }
        // What the model has to say about it is long, and told slowly.
        client.ok("chat.cancel", json!({ "conversation_id": id })).await;
        client.event_of("turn.finished").await;
    }
    items
}

/// Says what is wrong with a command that was to run to its own end.
pub(crate) fn fault(item: &Value) -> Option<String> {
    if item["outcome"] != "ran" {
        return Some(format!("{}: {} {}", item["requested"], item["outcome"], item["denial"]));
    }
    (item["result"]["ended_by"] != "exit").then(|| format!("{}: {}", item["requested"], item["result"]))
}

/// Runs what a command's Item shows without Owl and its wall, and says where the two differ. git gets none of Owl's
/// words and reads the repository's own configuration; what recurses keeps those that leave git data out.
pub(crate) fn differs_from_plain(item: &Value) -> Option<String> {
    let command = &item["command"];
    let program = command["program"].as_str().unwrap();
    let is_git = command["argv"][0] == "git";
    let added: Vec<u64> = command["added"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    let words = command["argv"].as_array().unwrap().iter().enumerate();
    let words = words.filter(|(index, _)| !is_git || !added.contains(&(*index as u64)));
    let words: Vec<&str> = words.map(|(_, word)| word.as_str().unwrap()).collect();
    let output = plain(Path::new(program), &words, Path::new(item["workdir"].as_str().unwrap()));
    let result = &item["result"];
    let same = result["exit_code"].as_i64() == output.status.code().map(i64::from)
        && is_same(&result["stdout"], &output.stdout)
        && is_same(&result["stderr"], &output.stderr);
    (!same).then(|| {
        let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(300).collect::<String>();
        format!(
            "{}\n  Owl: {} {:.400} {:.400}\n  plain: {:?} {} {}",
            item["requested"],
            result["exit_code"],
            result["stdout"].to_string(),
            result["stderr"].to_string(),
            output.status.code(),
            printed(&output.stdout),
            printed(&output.stderr)
        )
    })
}

/// Compares what was kept of a stream with all of it.
fn is_same(kept: &Value, all: &[u8]) -> bool {
    let text = String::from_utf8_lossy(all);
    let (head, tail) = (kept["head"].as_str().unwrap(), kept["tail"].as_str().unwrap());
    match kept["omitted_bytes"].as_u64().unwrap() {
        0 => text == head,
        _ => kept["bytes"].as_u64() == Some(all.len() as u64) && text.starts_with(head) && text.ends_with(tail),
    }
}
