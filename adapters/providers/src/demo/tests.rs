use super::*;

struct Never;

#[async_trait]
impl Stop for Never {
    fn is_stopped(&self) -> bool {
        false
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

struct Already;

#[async_trait]
impl Stop for Already {
    fn is_stopped(&self) -> bool {
        true
    }

    async fn stopped(&self) {}
}

fn request(messages: Vec<Message>) -> Request {
    let tool = owl_domain::provider::ToolSpec { name: RUN_COMMAND, description: String::new(), parameters: &[] };
    Request {
        model: models()[0].model.clone(),
        system: String::new(),
        tools: vec![tool],
        messages,
        max_output_tokens: None,
    }
}

fn asked(question: &str) -> Request {
    request(vec![Message::User { results: Vec::new(), texts: vec![question.into()] }])
}

fn play(request: &Request) -> (String, Vec<(String, String)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut reply = DemoReply::new(request, Arc::new(Never), Duration::ZERO);
        let mut told = String::new();
        loop {
            match reply.next().await {
                Piece::Text(word) => told.push_str(&word),
                Piece::Whole(whole) => {
                    let mut calls = Vec::new();
                    for block in whole.blocks {
                        match block {
                            Block::Text(text) => assert_eq!(text, told, "what was told is what is kept"),
                            Block::Call(call) => calls.push((call.id.clone(), line_of(&call))),
                            Block::Raw(_) => panic!("the demo has no reasoning"),
                        }
                    }
                    assert_eq!(whole.stop, ReplyStop::Done);
                    assert!(told.starts_with(FIRST_WORDS), "{told}");
                    return (told, calls);
                }
                other => panic!("{other:?}"),
            }
        }
    })
}

fn lines(question: &str) -> Vec<String> {
    play(&asked(question)).1.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn the_questions_of_the_tour_lead_to_its_commands() {
    assert_eq!(lines("What happened here lately?"), ["git log --oneline -n 5"]);
    assert_eq!(lines("Is anything left to do?"), ["grep -rn TODO ."]);
    assert_eq!(lines("Please publish it."), ["git push"]);
}

#[test]
fn each_run_line_becomes_one_call_in_order() {
    assert_eq!(
        lines("Please:\nrun: git status\n  run:   cat \"a b\"  \nrun:\nno run: x"),
        ["git status", "cat \"a b\""]
    );
    assert_eq!(lines("run: cat ../x"), ["cat ../x"], "the gate judges, not the script");
}

#[test]
fn anything_else_is_told_what_it_is_and_what_can_be_asked() {
    let (text, calls) = play(&asked("How are you?"));
    assert!(text.contains("run: LINE"), "{text}");
    assert!(calls.is_empty());
}

#[test]
fn without_tools_nothing_is_proposed() {
    let mut request = asked("run: git status");
    request.tools.clear();
    let (text, calls) = play(&request);
    assert!(text.contains("Commands are off"), "{text}");
    assert!(calls.is_empty());
}

#[test]
fn results_are_answered_in_one_sentence_each() {
    let call = |id: &str, line: &str| {
        let arguments = serde_json::json!({"command": line}).to_string();
        Block::Call(Call { id: id.into(), name: RUN_COMMAND.into(), arguments })
    };
    let result = |id: &str, text: &str, is_error| ToolResult { call_id: id.into(), text: text.into(), is_error };
    let (text, calls) = play(&request(vec![
        Message::User { results: Vec::new(), texts: vec!["run: …".into()] },
        Message::Assistant(vec![
            call("a", "git log"),
            call("b", "git push"),
            call("c", "ls"),
            call("d", "cat x"),
            call("e", "wc x"),
        ]),
        Message::User {
            results: vec![
                result(
                    "a",
                    "$ git log\nin /p\nexit 0\n--- stdout (22 bytes)\nx\n--- stderr (3 bytes, 1 bytes were not text)\n",
                    false,
                ),
                result("b", "Not run: Owl denies this command: `push` is none of them. Instead: git log.", true),
                result("c", "Not run: nobody answered within 3600 s. Nobody refused it either.", true),
                result("d", "$ cat x\nin /p\nexit 1\n(it printed nothing)", false),
                result("e", "$ wc x\nin /p\nstopped after 30 s: time limit\n--- stdout (1 bytes)\n7", false),
            ],
            texts: Vec::new(),
        },
    ]));
    assert_eq!(
        text,
        format!(
            "{FIRST_WORDS} `git log` ended with exit 0 and printed 25 bytes. `git push`: Not run: Owl denies this command: \
             `push` is none of them. `ls`: Not run: nobody answered within 3600 s. `cat x` ended with exit 1 and printed \
             nothing. `wc x` was stopped after 30 s: time limit and printed 1 byte."
        )
    );
    assert!(calls.is_empty());
}

#[test]
fn ids_of_calls_never_repeat_in_a_conversation() {
    let first = play(&asked("run: ls\nrun: ls")).1;
    assert_eq!(first.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["demo_1", "demo_2"]);
    let blocks = ["demo_1", "demo_2"]
        .map(|id| Block::Call(Call { id: id.into(), name: RUN_COMMAND.into(), arguments: String::new() }));
    let later = request(vec![
        Message::User { results: Vec::new(), texts: vec!["run: ls\nrun: ls".into()] },
        Message::Assistant(blocks.to_vec()),
        Message::User { results: Vec::new(), texts: vec!["run: ls".into()] },
    ]);
    assert_eq!(play(&later).1[0].0, "demo_3");
}

#[test]
fn told_to_stop_it_stops() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut reply = DemoReply::new(&asked("run: ls"), Arc::new(Already), Duration::from_secs(3_600));
        let Piece::Broken(broken) = reply.next().await else { panic!("it went on") };
        assert_eq!(broken.why, BrokenBy::Stopped);
    });
}
