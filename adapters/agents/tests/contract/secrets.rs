//! C16: the Account's token goes to the API and nowhere else, and nobody else's goes there.

use crate::bench::{Bench, Call, Scenario, TOKEN, bash, subjects};
use serde_json::json;

const PLANTED: [(&str, &str); 8] = [
    ("ANTHROPIC_API_KEY", "planted"),
    ("ANTHROPIC_AUTH_TOKEN", "planted"),
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/planted"),
    ("CLAUDE_CODE_USE_BEDROCK", "1"),
    ("AWS_PROFILE", "planted"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "planted"),
    ("OPENROUTER_API_KEY", "planted"),
    ("OWL_SOCKET", "/planted"),
];

#[tokio::test]
async fn c16_the_accounts_token_reaches_the_api_and_nothing_else_of_the_daemon_does() {
    for subject in subjects() {
        let bench = Bench::with(&subject, &PLANTED).await;
        bench.put("env.mk", "x:\n\t@env > env.txt\n");
        let (seen, api) = bench.play_with_api(&Scenario::calls(&[bash("make -f env.mk x")])).await;
        assert_eq!(seen.calls(), [Call::Ran], "{subject:?}");
        let commands = std::fs::read_to_string(bench.worktree().join("env.txt")).unwrap();
        assert!(!commands.contains(TOKEN), "a command does not see the token: {subject:?}");
        assert!(!commands.contains("planted"), "{commands}");
        if bench.is_stub() {
            let record = bench.records().remove(0);
            assert_eq!(record["set"]["CLAUDE_CODE_OAUTH_TOKEN"], json!(TOKEN));
            assert_eq!(record["set"]["CLAUDE_CONFIG_DIR"], json!(bench.config()));
            assert_eq!(record["set"]["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"], json!("1"));
            assert_eq!(record["set"]["DISABLE_AUTOUPDATER"], json!("1"));
            assert_eq!(record["set"]["OWL_RUN_ID"], json!("r_9"));
            let names = record["names"].as_array().unwrap();
            for (name, _) in PLANTED {
                assert!(!names.contains(&json!(name)), "{name}");
            }
            assert_eq!(record["pid"], record["group"], "it leads a group of its own");
        } else {
            let requests = api.requests();
            assert!(!requests.is_empty());
            for request in requests {
                assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
                assert_eq!(request.header("x-api-key"), None);
            }
        }
    }
}

#[tokio::test]
async fn an_account_without_a_token_gives_none() {
    for subject in crate::bench::stubs() {
        let bench = Bench::with(&subject, &PLANTED).await;
        bench.play(&Scenario { token: false, ..Scenario::default() }).await;
        let record = bench.records().remove(0);
        assert!(!record["names"].as_array().unwrap().contains(&json!("CLAUDE_CODE_OAUTH_TOKEN")));
    }
}
