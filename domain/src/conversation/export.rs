//! A Conversation as Markdown that a person reads: pure text, one piece per Item, so that a long one is written in
//! pieces that simply follow each other.

use super::{CommandItem, CommandOutcome, CommandResult, Conversation, Item, ItemBody, Lookup};
use crate::{
    show::{quote_argv, visible},
    text::Clipped,
};
use alloc::{
    format,
    string::{String, ToString as _},
};

/// Returns what stands before the first Item.
#[must_use]
pub fn heading(conversation: &Conversation) -> String {
    let title = if conversation.title.is_empty() { "Untitled" } else { conversation.title.as_str() };
    let mut text = format!("# {}\n\n", visible(title));
    text.push_str(&format!("{} · began {}", conversation.id, conversation.created_at));
    if let Some(workdir) = &conversation.workdir {
        text.push_str(&format!(" · in `{}`", visible(workdir.as_str())));
    }
    if let Some(model) = &conversation.model {
        text.push_str(&format!(" · {} {}", model.provider, model.id));
    }
    text.push('\n');
    text
}

/// Returns one Item, with a blank line before it.
#[must_use]
pub fn item(item: &Item) -> String {
    let said = match &item.body {
        ItemBody::User { text } => (String::from("You"), visible(text)),
        ItemBody::Assistant { text, complete, .. } => {
            let who = if *complete { "Model" } else { "Model (cut off)" };
            (who.into(), visible(text))
        }
        ItemBody::Lookup(lookup) => looked(lookup),
        ItemBody::Command(command) => commanded(command),
    };
    let (who, text) = said;
    format!("\n## {who}\n\n{}\n", text.trim_end())
}

fn looked(lookup: &Lookup) -> (String, String) {
    let ended = if lookup.failed { " (failed)" } else { "" };
    (format!("Looked up: {}{ended}", visible(&lookup.tool)), fenced(&visible(&lookup.result)))
}

fn commanded(command: &CommandItem) -> (String, String) {
    let outcome = match &command.outcome {
        None => "waits",
        Some(outcome) => match outcome {
            CommandOutcome::Ran(_) => "ran",
            CommandOutcome::GateDenied(_) => "denied by the gate",
            CommandOutcome::Denied => "refused",
            CommandOutcome::Expired => "nobody answered",
            CommandOutcome::Cancelled => "cancelled",
            CommandOutcome::Failed { .. } => "could not be started",
            CommandOutcome::Interrupted => "started, not known to have finished",
        },
    };
    let line = match &command.shown {
        Some(shown) => quote_argv(&shown.argv),
        None => visible(&command.requested),
    };
    let mut text = fenced(&format!("$ {line}"));
    if let Some(workdir) = &command.workdir {
        text.push_str(&format!("\nIn `{}`.\n", visible(workdir.as_str())));
    }
    match &command.outcome {
        Some(CommandOutcome::Ran(result)) => text.push_str(&printed(result)),
        Some(CommandOutcome::GateDenied(denial)) => text.push_str(&format!("\n{}.\n", visible(&denial.message))),
        Some(CommandOutcome::Failed { reason }) => text.push_str(&format!("\n{}.\n", visible(reason))),
        Some(
            CommandOutcome::Denied | CommandOutcome::Expired | CommandOutcome::Cancelled | CommandOutcome::Interrupted,
        )
        | None => {}
    }
    (format!("Command: {outcome}"), text)
}

fn printed(result: &CommandResult) -> String {
    let ending = match (result.exit_code, &result.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by {signal}"),
        (None, None) => result.ended_by.name().to_string(),
    };
    let mut text = format!("\nEnded by {}: {ending}.\n", result.ended_by.name());
    for (name, output) in [("Standard output", &result.stdout), ("Standard error", &result.stderr)] {
        if output.bytes > 0 {
            text.push_str(&format!("\n{name}, {} bytes:\n\n{}", output.bytes, fenced(&kept(output))));
        }
    }
    text
}

fn kept(output: &Clipped) -> String {
    if output.omitted_bytes == 0 {
        return visible(&output.head);
    }
    format!("{}\n… {} bytes left out …\n{}", visible(&output.head), output.omitted_bytes, visible(&output.tail))
}

/// Fences text with more backticks than any run that it holds, so that nothing in it ends the fence.
fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ids::{ConversationId, ItemId, Seq, TurnId},
        time::Timestamp,
    };
    use expect_test::expect;

    fn made(body: ItemBody) -> Item {
        Item {
            id: ItemId::new(1),
            conversation: ConversationId::new(1),
            turn: TurnId::new(1),
            seq: Seq(1),
            created_at: Timestamp::default(),
            completed_at: Some(Timestamp::default()),
            body,
        }
    }

    #[test]
    fn text_that_would_not_print_is_shown_and_a_cut_answer_says_so() {
        let text =
            item(&made(ItemBody::Assistant { text: "a\u{1b}[2Jb".into(), reasoning: String::new(), complete: false }));
        assert_eq!(text, "\n## Model (cut off)\n\na\\u{1b}[2Jb\n");
    }

    #[test]
    fn nothing_that_was_printed_ends_its_fence() {
        let lookup = Lookup { tool: "list_jobs".into(), input: "{}".into(), result: "```\n# a".into(), failed: true };
        expect![[r#"

            ## Looked up: list_jobs (failed)

            ````
            ```
            # a
            ````
        "#]]
        .assert_eq(&item(&made(ItemBody::Lookup(lookup))));
    }

    #[test]
    fn a_line_that_was_denied_stands_with_its_reason() {
        let denial =
            crate::gate::Denial::about(crate::gate::DenialKind::Program, "rm", "`rm` is not a program Owl runs");
        let command = CommandItem {
            requested: "rm -rf .".into(),
            workdir: None,
            shown: None,
            proposal: None,
            grant: None,
            started_at: None,
            finished_at: None,
            outcome: Some(CommandOutcome::GateDenied(denial)),
        };
        expect![[r#"

            ## Command: denied by the gate

            ```
            $ rm -rf .
            ```

            `rm` is not a program Owl runs.
        "#]]
        .assert_eq(&item(&made(ItemBody::Command(alloc::boxed::Box::new(command)))));
    }
}
