//! C2 to C4, C8, C10, C21, C23: what the lists let pass.

use crate::bench::{Bench, Call, Scenario, bash, denied_tools, lines_of, stubs, subjects, write};
use owl_domain::{
    job::Exit,
    permissions::{Rule, default_list::DEFAULT_LIST},
    ports::PromptsOff,
};
use serde_json::json;
use std::fs;

/// Something of each kind that the default list lets pass, and that leaves a witness.
fn work() -> [(&'static str, serde_json::Value); 3] {
    [write("NOTE.txt"), bash("make x"), bash("git add -A && git commit --quiet -m 'the work'")]
}

#[tokio::test]
async fn c2_with_the_default_list_an_agent_edits_builds_and_commits() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let seen = bench.play(&Scenario::calls(&work())).await;
        assert_eq!(seen.calls(), [Call::Ran; 3], "{subject:?}");
        assert_eq!(seen.denied(), [] as [&owl_domain::permissions::ToolCall; 0]);
        assert_eq!(seen.exit.exit, Exit::Code(0));
        assert!(bench.worktree().join("NOTE.txt").exists() && bench.worktree().join("made.txt").exists());
    }
}

#[tokio::test]
async fn c3_with_the_default_list_the_web_is_denied_and_the_run_goes_on() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let fetch = ("WebFetch", json!({"url": "https://example.com/a", "prompt": "what is there"}));
        let seen = bench.play(&Scenario::calls(&[bash("curl http://127.0.0.1:1/"), fetch, write("NOTE.txt")])).await;
        assert_eq!(seen.calls(), [Call::Denied, Call::Denied, Call::Ran], "{subject:?}");
        let denied = seen.denied();
        let first = denied.iter().find(|call| call.tool == "Bash").unwrap();
        assert_eq!(first.command(), Some("curl http://127.0.0.1:1/"));
        assert!(first.id.is_some());
        let result = seen.result().unwrap();
        assert_eq!((result.is_error, result.subtype.as_str(), &seen.exit.exit), (false, "success", &Exit::Code(0)));
    }
}

#[tokio::test]
async fn c4_init_says_which_mode_holds_on_both_forms() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let seen = bench.play(&Scenario::calls(&[write("NOTE.txt"), bash("curl x")])).await;
        let mode = match seen.prompts_off {
            PromptsOff::Flag => "default",
            PromptsOff::Mode => "dontAsk",
        };
        assert_eq!(seen.reported().permission_mode.as_deref(), Some(mode), "{subject:?}");
        assert_eq!(seen.calls(), [Call::Ran, Call::Denied]);
        // A version with the flag knows the other form too.
        let scenario = Scenario::calls(&[write("OTHER.txt"), bash("curl x")]);
        let api = bench.prepare(&scenario);
        let mut words = bench.words(&scenario).await;
        let form = words.iter().position(|word| word.starts_with("--permission-")).unwrap();
        words.splice(form..form + 2, ["--permission-mode".into(), "dontAsk".into()]);
        let output = bench.bare(&words, &api).await;
        assert_eq!(denied_tools(&lines_of(&output)), ["Bash"], "{subject:?}");
        assert!(bench.worktree().join("OTHER.txt").exists());
    }
}

#[tokio::test]
async fn a_mode_of_the_accounts_file_is_honoured_on_the_first_form_and_overridden_on_the_second() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let permissions = json!({"allow": ["Bash(make:*)", "Write"], "defaultMode": "plan"});
        let seen = bench.play(&Scenario { permissions, ..Scenario::calls(&[write("NOTE.txt")]) }).await;
        let (mode, call) = match seen.prompts_off {
            PromptsOff::Flag => ("plan", Call::Denied),
            PromptsOff::Mode => ("dontAsk", Call::Ran),
        };
        assert_eq!((seen.reported().permission_mode.as_deref(), seen.calls()), (Some(mode), vec![call]), "{subject:?}");
    }
}

#[tokio::test]
async fn c8_deny_beats_allow_and_ask_is_a_denial() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let permissions = json!({"allow": ["Bash(make:*)", "Bash(touch:*)", "Bash(mkdir:*)", "Write"],
            "deny": ["Bash(touch:*)", "WebSearch"], "ask": ["Bash(mkdir:*)"]});
        let scenario = Scenario { permissions, ..Scenario::calls(&[bash("touch a"), bash("mkdir b"), bash("make x")]) };
        let seen = bench.play(&scenario.with_rules(&["Bash(touch:*)", "Bash(mkdir:*)", "WebSearch"])).await;
        assert_eq!(seen.calls(), [Call::Denied, Call::Denied, Call::Ran], "{subject:?}");
        let tools = &seen.reported().tools;
        assert!(!tools.contains(&"WebSearch".into()) && tools.contains(&"Write".into()), "{tools:?}");
    }
}

#[tokio::test]
async fn c10_the_stub_refuses_what_the_real_tool_takes_without_a_word() {
    for subject in subjects() {
        for settings in [None, Some(r#"{"permissions":{"allow":[]}}"#)] {
            let bench = Bench::new(&subject).await;
            let scenario = Scenario::calls(&[write("NOTE.txt"), bash("make x")]);
            let api = bench.prepare(&scenario);
            let file = bench.config().join("settings.json");
            match settings {
                None => fs::remove_file(&file).unwrap(),
                Some(text) => fs::write(&file, text).unwrap(),
            }
            let output = bench.bare(&bench.words(&scenario).await, &api).await;
            if bench.is_stub() {
                assert_eq!(output.exit_code, Some(97));
            } else {
                assert_eq!(output.exit_code, Some(0));
                assert_eq!(denied_tools(&lines_of(&output)), ["Write", "Bash"], "{settings:?} with {subject:?}");
            }
        }
    }
}

#[tokio::test]
async fn c10_the_stub_refuses_prompts_that_are_on() {
    for subject in stubs() {
        let bench = Bench::new(&subject).await;
        let api = bench.prepare(&Scenario::default());
        let words = ["--print", "--verbose", "--output-format", "stream-json", "--", "Do it"];
        assert_eq!(bench.bare(&words.map(Into::into), &api).await.exit_code, Some(97));
    }
}

#[tokio::test]
async fn c21_what_is_marked_as_dead_lets_nothing_pass() {
    let dead = [
        "Bash(./run.sh:*) x",
        "bash(./run.sh:*)",
        "bash",
        "Bash:./run.sh",
        "*",
        "Bash(./run.sh:*",
        "Bash()",
        "Bash (./run.sh:*)",
        " Bash(./run.sh:*)",
        "write",
        "Write(NOTE.txt)",
    ];
    for rule in dead {
        assert!(Rule::read(rule).is_err(), "{rule}");
    }
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let mut rules = dead.to_vec();
        rules.push("Bash(make:*)");
        let seen =
            bench.play(&Scenario::calls(&[bash("./run.sh"), write("NOTE.txt"), bash("make x")]).allow(&rules)).await;
        assert_eq!(seen.calls(), [Call::Denied, Call::Denied, Call::Ran], "{subject:?}");
    }
    assert!(DEFAULT_LIST.iter().all(|rule| Rule::read(rule).is_ok()));
}

#[tokio::test]
async fn c23_a_verifier_has_the_accounts_list_alone_and_can_leave_its_verdict() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let verdict = bench.home.path().join("verdicts/r_9/verdict.json");
        fs::create_dir_all(verdict.parent().unwrap()).unwrap();
        let content = r#"{"verdict":"pass","message":"It holds."}"#;
        let call = ("Write", json!({"file_path": verdict, "content": content}));
        let scenario = Scenario::calls(&[call, bash("just test")]);
        assert!(!bench.words(&scenario).await.contains(&"--allowedTools".into()));
        let seen = bench.play(&scenario).await;
        assert_eq!(seen.calls(), [Call::Ran, Call::Denied], "{subject:?}");
        assert_eq!(fs::read_to_string(verdict).unwrap(), content);
    }
}
