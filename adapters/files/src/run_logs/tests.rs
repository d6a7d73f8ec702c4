use super::*;
use owl_domain::ports::LogNote;
use std::{fs, os::unix::fs::PermissionsExt as _};
use tempfile::TempDir;

const RUN: RunId = RunId::new(9);

fn logs() -> (TempDir, HostRunLogs, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let logs = HostRunLogs::new(directory.path());
    let file = directory.path().join("r_9.jsonl");
    (directory, logs, file)
}

fn line(text: &str) -> LogLine {
    LogLine::Agent { text: text.into(), bytes: text.len() as u64 }
}

async fn texts(logs: &HostRunLogs, after: u64) -> Vec<(u64, String)> {
    logs.read(RUN, after, 1_000_000).await.unwrap().lines
}

#[tokio::test]
async fn lines_come_back_with_the_offsets_to_go_on_from() {
    let (_directory, logs, file) = logs();
    assert_eq!(logs.read(RUN, 0, 100).await.unwrap(), LogLines::default());
    for text in ["one", "", "thrée"] {
        logs.append(RUN, line(text)).await.unwrap();
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let all = [(0, "one".to_owned()), (4, String::new()), (5, "thrée".to_owned())];
    assert_eq!(texts(&logs, 0).await, all);
    assert_eq!(texts(&logs, 4).await, all[1..]);
    // In the middle of a line: from the next one on.
    assert_eq!(texts(&logs, 2).await, all[1..]);
    assert_eq!(texts(&logs, 6).await, []);
    let first = logs.read(RUN, 0, 1).await.unwrap();
    assert_eq!((first.lines.len(), first.next, first.size), (1, 4, 12));
    let beyond = logs.read(RUN, 400, 1).await.unwrap();
    assert_eq!((beyond.lines.len(), beyond.next), (0, 12));
}

#[tokio::test]
async fn a_line_that_was_never_finished_is_not_told_and_gives_way() {
    let (_directory, logs, file) = logs();
    fs::write(&file, "whole\nhalf of a li").unwrap();
    assert_eq!(texts(&logs, 0).await, [(0, "whole".to_owned())]);
    assert_eq!(logs.size(RUN).await, 6);
    logs.append(RUN, line("next")).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "whole\nnext\n");
}

#[tokio::test]
async fn a_line_over_the_limit_says_how_much_was_cut() {
    let (_directory, logs, file) = logs();
    let most = owl_domain::limits::LOG_LINE_BYTES;
    logs.append(RUN, LogLine::Agent { text: "x".repeat(most + 5), bytes: most as u64 + 1_000 }).await.unwrap();
    let written = fs::read_to_string(file).unwrap();
    assert!(written.ends_with("x…[1000 bytes cut]\n"), "{}", &written[most - 5..]);
}

#[tokio::test]
async fn whoever_follows_is_woken() {
    let (_directory, logs, _file) = logs();
    logs.append(RUN, line("one")).await.unwrap();
    let logs = Arc::new(logs);
    let follower = tokio::spawn({
        let logs = Arc::clone(&logs);
        async move {
            logs.longer_than(RUN, 4).await;
            texts(&logs, 4).await
        }
    });
    logs.append(RUN, LogLine::Owl(LogNote::Said { text: "two".into() })).await.unwrap();
    let told = follower.await.unwrap();
    assert_eq!(told, [(4, r#"{"event":"said","text":"two","type":"owl"}"#.to_owned())]);
}

#[tokio::test]
async fn a_link_in_the_place_of_a_log_is_not_followed() {
    let (directory, logs, file) = logs();
    let other = directory.path().join("other");
    fs::write(&other, "kept\n").unwrap();
    std::os::unix::fs::symlink(&other, &file).unwrap();
    assert!(logs.append(RUN, line("one")).await.is_err());
    assert!(logs.read(RUN, 0, 100).await.is_err());
    assert_eq!(fs::read_to_string(other).unwrap(), "kept\n");
}
