use super::*;
use proptest::prelude::*;

/// Reads the bytes in these pieces, and returns the lines as text.
fn lines(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
    let mut reader = LineReader::new(limit);
    let mut lines = Vec::new();
    let told = |line: Line<'_>| match line {
        Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
        Line::TooLong => String::from("TOO LONG"),
    };
    for piece in pieces {
        reader.space().extend_from_slice(piece);
        while let Some(line) = reader.next() {
            lines.push(told(line));
        }
    }
    lines.extend(reader.rest().map(told));
    lines
}

#[test]
fn lines_end_with_lf_or_crlf_and_the_last_one_needs_none() {
    assert_eq!(lines(10, &[b"a\nbc\r\n\r\n\nd"]), ["a", "bc", "", "", "d"]);
    assert_eq!(lines(10, &[b"a\r", b"\nb\rc\n"]), ["a", "b\rc"]);
}

#[test]
fn a_line_over_the_limit_is_told_once_and_the_next_one_is_whole() {
    assert_eq!(lines(4, &[b"1234\n12345\nok\n"]), ["1234", "TOO LONG", "ok"]);
    assert_eq!(lines(4, &[b"1234\r\n12345\r\nok\r\n"]), ["1234", "TOO LONG", "ok"]);
    let long = vec![b'x'; 1000];
    assert_eq!(lines(4, &[&long, &long, &long, b"\nok\n"]), ["TOO LONG", "ok"]);
    assert_eq!(lines(4, &[&long, &long]), ["TOO LONG"]);
}

#[test]
fn a_line_that_is_skipped_is_not_held() {
    let mut reader = LineReader::new(100);
    for _ in 0..1000 {
        reader.space().extend_from_slice(&[b'x'; 1000]);
        while reader.next().is_some() {}
    }
    assert!(reader.space().capacity() <= 2 * KEPT);
}

proptest! {
    #[test]
    fn the_pieces_in_which_it_comes_change_nothing(
        text in "[a-c\r\n]{0,60}",
        cuts in proptest::collection::vec(0_usize..60, 0..20),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
        prop_assert_eq!(lines(8, &pieces), lines(8, &[text.as_bytes()]));
    }
}
