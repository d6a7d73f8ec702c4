//! What a model may call, and what becomes of calls that are not as they should be (D15).

use crate::{
    grants::serde_like,
    world::{TREE, World},
};
use owl_domain::{
    conversation::{ItemBody, Lookup},
    gate::DenialKind,
    limits,
    ports::{MockProposals, OpenError},
    provider::Message,
    turn::{Ending, tools},
};
use owl_testkit::{
    model::{ScriptedModel, calls, runs, says},
    tokio,
};
use std::sync::{Arc, atomic::Ordering};

/// Every Item of a Turn that read what Owl knows.
fn lookups(world: &World, turn: owl_domain::ids::TurnId) -> Vec<Lookup> {
    let lookups = world.items(turn).into_iter().filter_map(|item| match item.body {
        ItemBody::Lookup(lookup) => Some(lookup),
        ItemBody::User { .. } | ItemBody::Assistant { .. } | ItemBody::Command(_) => None,
    });
    lookups.collect()
}

async fn looked_up(tool: &str, arguments: &str) -> Lookup {
    let world = World::new(vec![calls([(tool, arguments.to_owned())])]);
    let turn = world.ask().await;
    let [lookup] = lookups(&world, turn).try_into().unwrap();
    assert_eq!(world.told_at(turn, 0), lookup.result, "the model gets what the person sees");
    assert_eq!(world.told(turn)[0].clone().map(|told| told.is_error), Some(lookup.failed));
    assert_eq!(world.store.proposals(), [], "nobody is asked");
    assert!(!world.was_told("item.started") || !world.was_told("proposal.created"));
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    world.assert_nothing_held();
    lookup
}

async fn malformed(arguments: &str) -> owl_domain::gate::Denial {
    let world = World::new(vec![calls([("run_command", arguments.to_owned())])]);
    let turn = world.ask().await;
    assert_eq!(world.outcomes(turn), ["gate_denied"], "{arguments}");
    let denial = world.denial(turn, 0);
    assert_eq!(denial.kind, DenialKind::MalformedCall, "{arguments}");
    assert_eq!(world.command_items(turn)[0].requested, arguments, "shown as it came");
    assert!(world.told_at(turn, 0).starts_with("Not run: Owl denies this command: "));
    assert_eq!(world.store.proposals(), []);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    denial
}

#[tokio::test]
async fn exactly_the_closed_set_of_tools_is_offered() {
    let world = World::new(vec![]);
    world.ask().await;
    let [request] = world.model.asked().try_into().unwrap();
    let names: Vec<_> = request.tools.iter().map(|tool| tool.name).collect();
    let known = tools::offered();
    assert_eq!(names, known.iter().map(|tool| tool.name).collect::<Vec<_>>());
    assert_eq!(names.iter().filter(|name| **name == "run_command").count(), 1);
    for tool in &known {
        let acts = tool.name == "run_command";
        let reads = ["list_", "get_", "read_"].iter().any(|prefix| tool.name.starts_with(prefix));
        assert!(acts || reads, "{} only reads", tool.name);
        assert!(tool.parameters.iter().all(|p| !p.name.contains("consent") && !p.name.contains("allow")));
    }
}

#[tokio::test]
async fn what_the_model_is_told_first_holds_nothing_of_a_repository() {
    let world = World::new(vec![]);
    world.ask().await;
    let system = world.model.asked().remove(0).system;
    assert!(system.ends_with("\n\nThe directory of this chat is /home/u/shop, of the Project shop."), "{system}");
    assert_eq!(world.files.located(), 0, "nothing of it was looked at");
}

#[tokio::test]
async fn projects_and_directories_are_told_without_asking() {
    let projects = looked_up("list_projects", "{}").await;
    assert_eq!((projects.result.as_str(), projects.failed), ("shop  /home/u/shop  base branch main", false));
    assert_eq!(looked_up("list_projects", "").await.input, "{}");
    let all = "/home/u/shop  shop  branch topic  root\n/home/u/shop-topic  shop  branch topic  worktree";
    assert_eq!(looked_up("list_worktrees", "{}").await.result, all);
    let one = looked_up("list_worktrees", r#"{"project":"shop"}"#).await;
    assert_eq!((one.result.as_str(), one.input.as_str()), (all, r#"{"project":"shop"}"#));
}

#[tokio::test]
async fn a_wrong_lookup_says_what_is_wrong() {
    for (arguments, says) in [
        (r#"{"project":"other"}"#, "There is no Project `other`."),
        (r#"{"project":"no such name"}"#, "There is no Project `no such name`."),
        (r#"{"project":7}"#, "`project` must be a text."),
        (r#"{"project":null}"#, "`project` must be a text."),
        (r#"{"projekt":"shop"}"#, "There is no parameter `projekt`."),
        ("[]", "The arguments of list_worktrees are wrong: they are no object."),
    ] {
        let lookup = looked_up("list_worktrees", arguments).await;
        assert_eq!((lookup.result.as_str(), lookup.failed), (says, true), "{arguments}");
    }
    assert!(looked_up("list_projects", r#"{"all":true}"#).await.failed);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_not_kept_as_one() {
    let lookup = looked_up("list_projects", r#"{"project":"sh"#).await;
    assert!(lookup.failed && lookup.result.contains("they are not JSON"), "{}", lookup.result);
    assert_eq!(lookup.input, "{}");
}

#[tokio::test]
async fn a_tool_that_does_not_exist_is_answered_with_those_that_do() {
    for arguments in ["{}", r#"{"path":"x"}"#, "no JSON", "[]"] {
        let lookup = looked_up("read_file", arguments).await;
        assert_eq!(
            lookup.result,
            "There is no tool `read_file`; there are run_command, list_projects, list_worktrees, list_jobs, get_job, \
             get_job_diff, read_run_log."
        );
        assert!(lookup.failed);
    }
    let hostile = looked_up("run_command\u{202e}\u{1b}[2J", "{}").await;
    assert!(hostile.result.contains("`run_command\\u{202e}\\u{1b}[2J`") && hostile.tool.is_ascii());
    for close in ["Run_command", "run_command ", "consent.answer", "chat.allow", ""] {
        assert!(looked_up(close, r#"{"command":"cat README.md"}"#).await.failed, "{close}");
    }
}

#[tokio::test]
async fn a_malformed_call_is_denied_naming_what_is_wrong() {
    for (arguments, says) in [
        (
            r#"{"command":"cat a","approved":true}"#,
            "run_command has no parameter `approved`; it has command and workdir",
        ),
        (r#"{"cmd":"cat a"}"#, "run_command has no parameter `cmd`; it has command and workdir"),
        (
            r#"{"command":"cat a","on_consent":"allow"}"#,
            "run_command has no parameter `on_consent`; it has command and workdir",
        ),
        ("{}", "run_command needs a `command`"),
        ("", "run_command needs a `command`"),
        (r#"{"workdir":"/home/u/shop"}"#, "run_command needs a `command`"),
        (r#"{"command":7}"#, "`command` of run_command must be a text, not a number"),
        (r#"{"command":["cat","a"]}"#, "`command` of run_command must be a text, not a list"),
        (r#"{"command":null}"#, "`command` of run_command must be a text, not null"),
        (r#"{"command":"cat a","workdir":{}}"#, "`workdir` of run_command must be a text, not an object"),
        (r#""cat a""#, "the arguments of run_command are wrong: they are no object"),
    ] {
        assert_eq!(malformed(arguments).await.message, says, "{arguments}");
    }
    let half = malformed(r#"{"command":"git st"#).await;
    assert!(half.message.starts_with("the arguments of run_command are wrong: they are not JSON"), "{half:?}");
    let hostile = malformed(r#"{"command":"cat a","\u202e":1}"#).await;
    assert!(hostile.message.contains("`\\u{202e}`"), "{hostile:?}");
}

#[tokio::test]
async fn where_tools_are_off_none_is_offered_and_a_call_is_told_so() {
    let world = World::with_model(ScriptedModel::new(|request| match &request.messages[..] {
        [Message::User { texts, .. }] if texts.len() == 1 => {
            calls([("run_command", serde_like("cat README.md", None)), ("list_projects", "{}".to_owned())])
        }
        _ => says("I cannot look."),
    }));
    let turn = without_tools(&world).await;
    assert!(world.model.asked()[0].tools.is_empty());
    assert!(world.model.asked()[0].system.contains("Commands are off in this chat"));
    let results: Vec<_> = lookups(&world, turn).into_iter().map(|lookup| (lookup.result, lookup.failed)).collect();
    assert_eq!(results, vec![("There are no tools in this chat.".to_owned(), true); 2]);
    assert_eq!(world.store.proposals(), []);
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    world.assert_nothing_held();
}

/// Begins a Turn without tools and carries it on.
async fn without_tools(world: &World) -> owl_domain::ids::TurnId {
    let new = owl_domain::ports::NewTurn {
        conversation: world.conversation,
        question: owl_domain::text::Question::new("Any TODOs left?").unwrap(),
        workdir: Some(crate::world::path(crate::world::SHOP)),
        model: crate::world::demo(),
        on_consent: owl_domain::turn::OnConsent::Ask,
        sent_by: crate::world::peer("owl-desktop"),
        tools: false,
        once: None,
    };
    let now = owl_domain::ports::Clock::now(world.clock.as_ref());
    let begun = crate::world::turns(world).begin(new, now).await.unwrap();
    world.leg(begun.turn).await.unwrap();
    begun.turn
}

#[tokio::test]
async fn more_calls_than_a_reply_may_hold_are_denied() {
    let most = limits::CALLS_PER_REPLY;
    let mut all: Vec<_> = (0..most + 2).map(|_| ("run_command", serde_like("cat README.md", None))).collect();
    all.push(("list_projects", "{}".to_owned()));
    let world = World::new(vec![calls(all)]);
    let turn = world.ask().await;
    assert_eq!(world.store.proposals().len(), most);
    let outcomes = world.outcomes(turn);
    assert_eq!(outcomes.len(), most + 2);
    assert_eq!(outcomes[most..], ["gate_denied", "gate_denied"]);
    let denial = world.denial(turn, most);
    assert_eq!(denial.kind, DenialKind::TooMany);
    assert_eq!(denial.message, "one reply may hold 16 calls, and this one is beyond");
    let [lookup] = lookups(&world, turn).try_into().unwrap();
    assert_eq!(lookup.result, "One reply may hold 16 calls, and this one is beyond.");
    assert!(lookup.failed);
}

#[tokio::test]
async fn more_proposals_than_may_wait_are_denied() {
    let world = World::new(vec![runs(&["cat README.md"])]);
    let mut proposals = MockProposals::new();
    proposals.expect_open().times(1).returning(|_, _| Err(OpenError::TooMany));
    let service = world.service_with(world.commands.clone(), Arc::new(proposals));
    let turn = service.send(world.message("Any TODOs left?")).await.unwrap().turn;
    service.advance(turn, world.legs.begin(turn), &*world.legs).await.unwrap();
    let denial = world.denial(turn, 0);
    assert_eq!(denial.kind, DenialKind::TooMany);
    assert_eq!(denial.message, "16 proposals wait in this conversation already, and no more may");
    assert_eq!(world.ending(turn), Some(Ending::EndTurn));
    world.assert_nothing_held();
}

#[tokio::test]
async fn a_call_may_name_one_of_the_directories_and_nothing_else() {
    let world = World::new(vec![calls([
        ("run_command", serde_like("cat README.md", Some(TREE))),
        ("run_command", serde_like("cat README.md", Some("/home/u"))),
        ("run_command", serde_like("cat README.md", Some("shop"))),
        ("run_command", serde_like("cat README.md", Some("/nowhere"))),
    ])]);
    let turn = world.ask().await;
    assert_eq!(world.outcomes(turn), ["open", "gate_denied", "gate_denied", "gate_denied"]);
    assert_eq!(world.store.proposals()[0].shown.workdir.as_str(), TREE);
    for (at, says) in [
        (1, "`/home/u` is not a Project's root nor one of its worktrees"),
        (2, "`shop` is not an absolute path"),
        (3, "`/nowhere` is not there"),
    ] {
        let denial = world.denial(turn, at);
        assert_eq!((denial.kind, denial.message.as_str()), (DenialKind::Workdir, says));
        assert_eq!(denial.hint.unwrap(), "name one of these directories: /home/u/shop, /home/u/shop-topic");
        assert_eq!(world.command_items(turn)[at].workdir, None);
    }
}

#[tokio::test]
async fn a_directory_that_a_model_names_cannot_hide_in_the_denial() {
    let world = World::new(vec![calls([("run_command", serde_like("cat a", Some("/x\\u202e\\u001b[2J")))])]);
    let turn = world.ask().await;
    assert_eq!(world.denial(turn, 0).message, "`/x\\u{202e}\\u{1b}[2J` is not there");
}

#[tokio::test]
async fn without_a_directory_a_command_must_name_one() {
    let mut world = World::new(vec![calls([
        ("run_command", serde_like("cat README.md", None)),
        ("run_command", serde_like("cat README.md", Some(TREE))),
    ])]);
    world.known.workdir = None;
    let turn = world.ask().await;
    assert_eq!(world.outcomes(turn), ["gate_denied", "open"]);
    let denial = world.denial(turn, 0);
    assert_eq!(denial.kind, DenialKind::Workdir);
    assert_eq!(denial.hint.as_deref(), Some("name one of those that list_worktrees tells as workdir"));
}

#[tokio::test]
async fn nothing_registered_is_told_as_nothing() {
    let world = World::new(vec![calls([("list_projects", "{}".to_owned()), ("list_worktrees", "{}".to_owned())])]);
    world.known.is_registered.store(false, Ordering::SeqCst);
    let turn = world.ask().await;
    let results: Vec<_> = lookups(&world, turn).into_iter().map(|lookup| lookup.result).collect();
    assert_eq!(results, ["No Project is registered.", "There is no directory."]);
}

#[tokio::test]
async fn every_call_that_a_model_made_is_on_the_record() {
    let world = World::new(vec![runs(&["cat a", "rm -rf .", "cat b"])]);
    let turn = world.ask().await;
    let requested: Vec<_> = world.command_items(turn).into_iter().map(|command| command.requested).collect();
    assert_eq!(requested, ["cat a", "rm -rf .", "cat b"]);
}
