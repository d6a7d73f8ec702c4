use super::*;
use futures_util::stream;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn body(chunks: Vec<Vec<u8>>) -> Body {
    Box::pin(stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk)))))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn all(chunks: Vec<Vec<u8>>) -> (Vec<String>, ReadFault) {
    run(async {
        let mut events = Events::new(body(chunks), SECOND, SECOND * 60);
        let mut seen = Vec::new();
        loop {
            match events.next().await {
                Ok(data) => seen.push(data),
                Err(fault) => return (seen, fault),
            }
        }
    })
}

fn in_chunks(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    bytes.chunks(size).map(<[u8]>::to_vec).collect()
}

#[test]
fn the_same_bytes_are_the_same_events_at_every_chunk_size() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "data: a\r\n\ndata: b\r\r\n",
        "\u{feff}data: a\n\ndata: b\n\n",
        "\u{feff}data: a\r\rdata: b\r\r",
        ": PROCESSING\n\n: PROCESSING\n\nevent: x\ndata: a\nid: 1\nretry: 5\n\n:\n\ndata:b\n\n",
        "event: only\n\ndata\n\ndata: a\n\nid: 7\n\ndata: b\n\n",
    ] {
        for size in 1..=text.len() {
            let seen = all(in_chunks(text.as_bytes(), size));
            assert_eq!(seen, (vec!["a".to_owned(), "b".to_owned()], ReadFault::Ended), "{text:?} by {size}");
        }
    }
}

#[test]
fn data_lines_of_one_event_are_joined_and_text_is_kept_whole() {
    let text = "data: {\"a\":\ndata: \"ü — 🦉\"}\n\n";
    for size in 1..=text.len() {
        let (seen, _) = all(in_chunks(text.as_bytes(), size));
        assert_eq!(seen, ["{\"a\":\n\"ü — 🦉\"}"]);
    }
}

#[test]
fn an_event_that_is_not_at_its_end_is_none() {
    for cut in ["data: a", "data: a\n", "data: a\r\n"] {
        assert_eq!(all(in_chunks(cut.as_bytes(), 3)), (Vec::new(), ReadFault::Ended), "{cut:?}");
    }
}

#[test]
fn a_line_that_is_not_utf8_ends_the_stream() {
    let (seen, fault) = all(vec![b"data: a\n\ndata: \xff\n\ndata: b\n\n".to_vec()]);
    assert_eq!((seen, fault), (vec!["a".to_owned()], ReadFault::NotUtf8));
}

#[test]
fn a_long_line_is_read_and_one_over_the_bound_is_not() {
    let long = format!("data: {}\n\n", "x".repeat(4 * 1024 * 1024));
    let (seen, _) = all(in_chunks(long.as_bytes(), 1_000));
    assert_eq!(seen.iter().map(String::len).collect::<Vec<_>>(), [4 * 1024 * 1024]);

    let chunk = vec![b'x'; 64 * 1024];
    let endless = std::iter::repeat_n(chunk, EVENT_BYTES / (64 * 1024) + 1).collect();
    let (seen, fault) = all(endless);
    assert!(seen.is_empty());
    assert!(matches!(fault, ReadFault::TooBig(_)), "{fault:?}");
}

#[test]
fn an_empty_line_of_any_kind_begins_a_new_count() {
    for end in ["\n\n", "\r\r", "\r\n\r\n"] {
        let event = format!("data: {}{end}", "x".repeat(EVENT_BYTES / 3));
        let (seen, fault) = all(vec![
            event.clone().into_bytes(),
            event.clone().into_bytes(),
            event.clone().into_bytes(),
            event.into_bytes(),
        ]);
        assert_eq!((seen.len(), fault), (4, ReadFault::Ended), "{end:?}");
    }
}

#[test]
fn comments_for_ever_come_to_the_bound_of_a_reply() {
    let chunk = b": PROCESSING\n\n".repeat(64 * 1024);
    let endless = std::iter::repeat_n(chunk, REPLY_BYTES / (14 * 64 * 1024) + 1).collect();
    let (seen, fault) = all(endless);
    assert!(seen.is_empty());
    assert!(matches!(fault, ReadFault::TooBig(_)), "{fault:?}");
}

#[test]
fn silence_is_a_stall_and_comments_are_no_silence() {
    let idle = Duration::from_millis(40);
    run(async {
        let silent = stream::iter([Ok(Bytes::from("data: a\n\n"))]).chain(stream::pending());
        let mut events = Events::new(Box::pin(silent), idle, SECOND * 60);
        assert_eq!(events.next().await, Ok("a".to_owned()));
        assert_eq!(events.next().await, Err(ReadFault::Stalled(idle)));

        let talkative = stream::unfold((), |()| async {
            sleep(Duration::from_millis(1)).await;
            Some((Ok(Bytes::from(": still here\n\n")), ()))
        });
        let whole = Duration::from_millis(200);
        let mut events = Events::new(Box::pin(talkative), SECOND * 60, whole);
        assert_eq!(events.next().await, Err(ReadFault::TooLong(whole)), "a reply has its end, whatever comes");
    });
}

#[test]
fn a_reply_that_is_over_its_time_in_silence_is_too_long_and_not_stalled() {
    let whole = Duration::from_millis(20);
    run(async {
        let mut events = Events::new(Box::pin(stream::pending()), whole, whole);
        assert_eq!(events.next().await, Err(ReadFault::TooLong(whole)));
    });
}

#[test]
fn a_connection_that_breaks_says_so() {
    run(async {
        let broken = stream::iter([Ok(Bytes::from("data: a\n\ndata: b")), Err("reset".to_owned())]);
        let mut events = Events::new(Box::pin(broken), SECOND, SECOND);
        assert_eq!(events.next().await, Ok("a".to_owned()));
        assert_eq!(events.next().await, Err(ReadFault::Broken("reset".into())));
    });
}

proptest! {
    #[test]
    fn any_bytes_in_any_split_give_the_same_events(
        lines in proptest::collection::vec("(data: ?[a-zü]{0,6}|:c|event: e|)(\n|\r|\r\n)", 0..24),
        cuts in proptest::collection::vec(1_usize..9, 1..24),
    ) {
        let bytes = lines.concat().into_bytes();
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, more) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk.to_vec());
            rest = more;
        }
        prop_assert_eq!(all(chunks), all(vec![bytes]));
    }
}
