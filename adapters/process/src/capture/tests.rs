use super::*;

/// Captures `bytes` in pieces of every size up to `sizes` and checks that the pieces make no difference.
fn captured(head: usize, tail: usize, bytes: &[u8], sizes: usize) -> (String, Clipped) {
    let run = |size: usize| {
        let mut capture = Capture::new(head, tail);
        let told: String = bytes.chunks(size).map(|piece| capture.take(piece)).collect();
        (told, capture.finish())
    };
    let whole = run(bytes.len().max(1));
    for size in 1..=sizes {
        assert_eq!(run(size), whole, "in pieces of {size}");
    }
    whole
}

fn clipped(head: &str, tail: &str, bytes: u64, omitted_bytes: u64, replaced_bytes: u64) -> Clipped {
    Clipped { head: head.into(), tail: tail.into(), bytes, omitted_bytes, replaced_bytes }
}

#[test]
fn what_fits_is_all_head() {
    assert_eq!(captured(4, 3, b"", 1), (String::new(), Clipped::default()));
    assert_eq!(captured(4, 3, b"abc", 4).1, clipped("abc", "", 3, 0, 0));
    assert_eq!(captured(4, 3, b"abcdefg", 8), ("abcd".into(), clipped("abcdefg", "", 7, 0, 0)));
}

#[test]
fn of_more_the_first_and_the_last_part_are_kept_and_the_rest_is_counted() {
    assert_eq!(captured(4, 3, b"abcdefgh", 9), ("abcd".into(), clipped("abcd", "fgh", 8, 1, 0)));
    assert_eq!(captured(4, 3, b"abcdefghijklmnopqrstuvwxyz", 27).1, clipped("abcd", "xyz", 26, 19, 0));
}

#[test]
fn both_parts_are_cut_between_characters() {
    // a, é (2 bytes), € (3), 𝄞 (4)
    assert_eq!(captured(4, 3, "aé€bcdefgh".as_bytes(), 14).1, clipped("aé", "fgh", 13, 7, 0));
    assert_eq!(captured(2, 3, "abcdefg€h".as_bytes(), 12).1, clipped("ab", "h", 11, 8, 0));
    assert_eq!(captured(2, 4, "abcdefg€h".as_bytes(), 12).1, clipped("ab", "€h", 11, 5, 0));
    assert_eq!(captured(3, 3, "𝄞𝄞𝄞".as_bytes(), 12).1, clipped("", "", 12, 12, 0));
}

#[test]
fn a_character_in_two_pieces_is_told_whole() {
    let mut capture = Capture::new(10, 10);
    let told: Vec<String> =
        [b"a\xe2".as_slice(), b"\x82", b"\xacb", b"\xff", b"c\xc3"].map(|piece| capture.take(piece)).into();
    assert_eq!(told, ["a", "", "€b", "\u{fffd}", "c"]);
    assert_eq!(capture.finish(), clipped("a€b\u{fffd}c\u{fffd}", "", 8, 0, 2));
}

#[test]
fn what_is_no_text_is_replaced_and_counted() {
    assert_eq!(captured(9, 9, b"a\xff\xfeb\xe2\x82c\xed\xa0\x80", 11).1.replaced_bytes, 7);
    assert_eq!(captured(9, 9, b"\x00\x1b[31m", 7).1, clipped("\u{0}\u{1b}[31m", "", 6, 0, 0));
    // In the part that was left out nothing was replaced.
    assert_eq!(captured(1, 1, b"a\xff\xff\xffb", 6).1, clipped("a", "b", 5, 3, 0));
    // Bytes that look like the end of a character are not more than three.
    let continuations = [0x80; 20];
    assert_eq!(captured(4, 8, &continuations, 21).1.omitted_bytes, 11);
}

#[test]
fn memory_stays_flat_over_many_megabytes() {
    let mut capture = Capture::new(40, 16);
    let mut told = String::new();
    for piece in 0..1000_u32 {
        told.push_str(&capture.take(&vec![b'a' + u8::try_from(piece % 26).unwrap(); 64 * 1024]));
        assert!(capture.head.capacity() <= 64 && capture.rest.capacity() <= 128, "{capture:?}");
    }
    assert_eq!(told, "a".repeat(40));
    assert_eq!(capture.finish(), clipped(&"a".repeat(40), &"l".repeat(16), 65_536_000, 65_535_944, 0));
}
