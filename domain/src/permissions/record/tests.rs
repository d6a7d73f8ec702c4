use super::*;
use crate::permissions::sort;
use alloc::borrow::ToOwned;

fn permissions(allow: &[&str], project: &[&str]) -> Permissions {
    let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    let account = AccountList {
        name: AccountName::new("work").unwrap(),
        file: AbsPath::new("/a/settings.json").unwrap(),
        seeded: false,
        allow: own(allow),
        deny: own(&["Bash(rm:*)"]),
        ask: Vec::new(),
        default_mode: None,
        sha256: "00".into(),
        ignored: sort(&own(allow)).1,
    };
    let project = ProjectList { allowed_tools: own(project), ignored: sort(&own(project)).1, ..ProjectList::default() };
    Permissions { account, project, reported: None }
}

#[test]
fn the_lists_are_the_accounts_then_the_projects_one_rule_a_line_with_dead_ones_marked() {
    let permissions = permissions(&["Edit", "bash"], &["Bash(curl -a, b:*)", "Bash(\u{1b}[31m:*)"]);
    assert_eq!(
        permissions.lines(),
        [
            "Edit  allow, Account",
            "bash  allow, Account  [ignored: the tool is called Bash, in exactly this case; the tool ignores it]",
            "Bash(curl -a, b:*)  allow, Project",
            "Bash(\\u{1b}[31m:*)  allow, Project",
            "Bash(rm:*)  deny, Account",
        ]
    );
    let lists = permissions.lists(&AbsPath::new("/w").unwrap());
    assert_eq!(
        lists.allow.iter().map(alloc::string::ToString::to_string).collect::<Vec<_>>(),
        ["Edit", "Bash(curl -a, b:*)", "Bash(\u{1b}[31m:*)"]
    );
}

#[test]
fn a_mode_that_takes_the_lists_meaning_away_is_said_aloud() {
    let mut permissions = permissions(&["Edit"], &[]);
    assert_eq!(permissions.warnings(), [""; 0]);
    permissions.account.default_mode = Some("bypassPermissions".into());
    assert_eq!(
        permissions.warnings(),
        ["the Account's file asks for mode `bypassPermissions`: everything passes, whatever the list says"]
    );
    let ran = |mode: &str| Some(Reported { permission_mode: Some(mode.into()), ..Reported::default() });
    permissions.reported = ran("bypassPermissions");
    assert_eq!(
        permissions.warnings(),
        ["the tool ran in mode `bypassPermissions`: everything passes, whatever the list says"]
    );
    permissions.reported = ran("dontAsk");
    assert_eq!(
        permissions.warnings(),
        ["the Account's file asks for mode `bypassPermissions`, and this version of the tool ran in `dontAsk`"]
    );
    permissions.account.default_mode = Some("default".into());
    assert_eq!(permissions.warnings(), [""; 0]);
}

#[test]
fn an_empty_list_is_said_aloud() {
    assert_eq!(permissions(&[], &[]).warnings(), ["nothing is allowed: /a/settings.json allows nothing"]);
}

#[test]
fn both_places_for_a_line_are_named() {
    let [account, project] = permissions(&[], &[]).places();
    assert_eq!((account.file.as_str(), account.key), ("/a/settings.json", "permissions.allow"));
    assert_eq!((project.file.as_str(), project.key), (".coding-owl.yaml", "allowedTools"));
}
