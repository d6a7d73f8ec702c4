//! The demo Provider: a script that says so. Only the words are scripted; the tools it calls, the gate and the consent
//! are real (D6). The same questions always bring the same words.

use async_trait::async_trait;
use owl_domain::{
    ports::{Reply, Stop, Tested},
    provider::{
        Block, Broken, BrokenBy, Call, Message, Model, ModelRef, Piece, Provider, ReplyStop, Request, ToolResult,
        Usage, WholeReply,
    },
    text::ModelId,
};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::time::sleep;

/// The one model's id.
const MODEL: &str = "tour";
/// What each of its replies begins with.
const FIRST_WORDS: &str = "I am the demo provider: a script, not a model.";
/// The tool that proposes a command.
const RUN_COMMAND: &str = "run_command";
/// The questions of `owl demo`, what is said to each, and the command that it leads to.
const TOUR: [(&str, &str, &str); 3] = [
    (
        "What happened here lately?",
        "The history will tell. May I look at the last five commits?",
        "git log --oneline -n 5",
    ),
    ("Is anything left to do?", "I would search for notes that say so.", "grep -rn TODO ."),
    ("Please publish it.", "I will try to push it.", "git push"),
];

/// Returns the one model.
pub(crate) fn models() -> Vec<Model> {
    let Ok(id) = ModelId::new(MODEL) else { return Vec::new() };
    vec![Model {
        model: ModelRef { provider: Provider::Demo, id },
        name: "Demo (a script, not a model)".into(),
        context_tokens: None,
        max_output_tokens: None,
        tools: Some(true),
        reasoning: Some(false),
        price: None,
        listed_first: false,
    }]
}

/// Returns what a test of it comes to: it needs no key and asks nobody.
pub(crate) fn tested() -> Tested {
    Tested {
        ok: true,
        status: None,
        duration: Duration::ZERO,
        message: "the demo needs no key and asks nobody".into(),
        models: Some(1),
    }
}

/// One scripted reply.
pub(crate) struct DemoReply {
    words: VecDeque<String>,
    whole: Option<Box<WholeReply>>,
    stop: Arc<dyn Stop>,
    between: Duration,
}

impl DemoReply {
    /// Decides the whole reply at once; only the words come one by one.
    pub(crate) fn new(request: &Request, stop: Arc<dyn Stop>, between: Duration) -> Self {
        let (text, calls) = script(request);
        let words = text.split_inclusive(' ').map(str::to_owned).collect();
        let mut blocks = vec![Block::Text(text)];
        blocks.extend(calls.into_iter().map(Block::Call));
        let whole = WholeReply { blocks, stop: ReplyStop::Done, usage: Usage::default() };
        Self { words, whole: Some(Box::new(whole)), stop, between }
    }
}

#[async_trait]
impl Reply for DemoReply {
    async fn next(&mut self) -> Piece {
        tokio::select! {
            biased;
            () = self.stop.stopped() => {
                let broken = Broken { why: BrokenBy::Stopped, usage: Usage::default() };
                return Piece::Broken(Box::new(broken));
            }
            () = sleep(self.between) => {}
        }
        match (self.words.pop_front(), self.whole.take()) {
            (Some(word), whole) => {
                self.whole = whole;
                Piece::Text(word)
            }
            (None, Some(whole)) => Piece::Whole(whole),
            (None, None) => Piece::Broken(Box::new(Broken { why: BrokenBy::Stopped, usage: Usage::default() })),
        }
    }
}

/// Returns the words and the calls that answer a request.
fn script(request: &Request) -> (String, Vec<Call>) {
    let (results, question) = match request.messages.last() {
        Some(Message::User { results, texts }) => (results.as_slice(), texts.last().map(String::as_str)),
        Some(Message::Assistant(_)) | None => (&[][..], None),
    };
    let (words, lines) = match question {
        None => (after(results, &request.messages), Vec::new()),
        Some(question) => answer(question, !request.tools.is_empty()),
    };
    let before = calls_before(&request.messages);
    let calls = lines.into_iter().enumerate().map(|(n, line)| Call {
        id: format!("demo_{}", before + n + 1),
        name: RUN_COMMAND.into(),
        arguments: serde_json::json!({"command": line}).to_string(),
    });
    (format!("{FIRST_WORDS} {words}"), calls.collect())
}

/// Answers a question: with the commands it leads to, or with what can be asked.
fn answer(question: &str, tools: bool) -> (String, Vec<String>) {
    let lines: Vec<String> = question
        .lines()
        .filter_map(|line| line.trim().strip_prefix("run:"))
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let (words, lines) = if !lines.is_empty() {
        let words = match lines.len() {
            1 => "I propose the command that you wrote.".to_owned(),
            n => format!("I propose the {n} commands that you wrote."),
        };
        (words, lines)
    } else if let Some((_, words, line)) = TOUR.iter().find(|(known, _, _)| *known == question.trim()) {
        ((*words).to_owned(), vec![(*line).to_owned()])
    } else {
        let words = "I know the questions of `owl demo` and nothing else, but each line `run: LINE` of a question becomes a \
                     proposal to run LINE, for instance `run: git status`.";
        return (words.to_owned(), Vec::new());
    };
    if tools {
        (words, lines)
    } else {
        ("Commands are off here, so there is nothing I could propose.".into(), Vec::new())
    }
}

/// Says one sentence per call.
fn after(results: &[ToolResult], messages: &[Message]) -> String {
    if results.is_empty() {
        return "There is nothing left to say.".into();
    }
    let asked: Vec<&Call> = messages.iter().rev().find_map(calls_of).unwrap_or_default();
    let sentences = results.iter().map(|result| {
        let call = asked.iter().find(|call| call.id == result.call_id);
        sentence(call.map(|call| line_of(call)).as_deref(), result)
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// Says how one call ended and how much it printed, or the first sentence of why it did not run.
fn sentence(line: Option<&str>, result: &ToolResult) -> String {
    let subject = line.map_or("The command".to_owned(), |line| format!("`{line}`"));
    let first_line = result.text.lines().next().unwrap_or_default();
    if result.is_error || !first_line.starts_with("$ ") {
        let end = first_line.find(". ").map_or(first_line.len(), |at| at + 1);
        return format!("{subject}: {}", &first_line[..end]);
    }
    let how = match result.text.lines().nth(2).unwrap_or_default() {
        end if end.starts_with("exit ") => format!("ended with {end}"),
        end if end.starts_with("killed by ") => format!("was {end}"),
        end if end.starts_with("stopped after ") => format!("was {end}"),
        end => format!("ended: {end}"),
    };
    let printed: u64 = result.text.lines().skip(3).filter_map(bytes_told).sum();
    match printed {
        0 => format!("{subject} {how} and printed nothing."),
        1 => format!("{subject} {how} and printed 1 byte."),
        n => format!("{subject} {how} and printed {n} bytes."),
    }
}

/// Reads `--- stdout (22 bytes)` and the like.
fn bytes_told(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("--- stdout (").or_else(|| line.strip_prefix("--- stderr ("))?;
    rest.split_once(" bytes")?.0.parse().ok()
}

fn calls_of(message: &Message) -> Option<Vec<&Call>> {
    let Message::Assistant(blocks) = message else { return None };
    let calls = blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Raw(_) => None,
    });
    Some(calls.collect())
}

fn calls_before(messages: &[Message]) -> usize {
    messages.iter().filter_map(calls_of).map(|calls| calls.len()).sum()
}

fn line_of(call: &Call) -> String {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    arguments["command"].as_str().unwrap_or(&call.name).to_owned()
}

#[cfg(test)]
mod tests;
