use super::*;
use crate::permissions::{Dead, Rule};

#[test]
fn the_seeded_file_is_the_one_in_schemas() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/default-permissions.json");
    expect_test::expect_file![path].assert_eq(&settings_text());
}

#[test]
fn the_list_has_fifteen_rules_that_the_tool_honours_no_shell_and_nothing_from_the_web() {
    let rules: Vec<Rule> =
        DEFAULT_LIST.iter().map(|rule| Rule::read(rule)).collect::<Result<_, Dead>>().expect("every rule is honoured");
    assert_eq!(rules.len(), 15);
    for rule in &rules {
        let content = rule.content().unwrap_or_default();
        assert!(rule.tool() != "Bash" || content.ends_with(":*"), "{rule} grants a shell outright");
        assert!(!rule.tool().starts_with("Web") && !rule.tool().starts_with("mcp__"), "{rule} fetches from the web");
        for program in ["sh", "bash", "zsh", "dash", "env", "xargs", "sudo", "curl", "wget", "*"] {
            assert_ne!(content, alloc::format!("{program}:*"), "{rule}");
        }
    }
}
