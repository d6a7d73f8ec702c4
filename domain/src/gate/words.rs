//! A command line becomes words, as POSIX reads quotes and with nothing expanded; each character is known to have been
//! quoted or not (D10). Knows no program and says nothing to people: a [`Fault`] says what and where.

use crate::limits::{COMMAND_BYTES, COMMAND_WORDS};
use alloc::{string::String, vec::Vec};
use core::{iter::Peekable, ops::Range, str::CharIndices};

/// One word, quotes removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// What it says.
    pub(super) text: String,
    /// Which bytes of the text were quoted: ascending, none empty.
    quoted: Vec<Range<usize>>,
    /// Where it stands in the line, quotes included.
    pub(super) span: Range<usize>,
}

/// Why a line is not a list of words, the first reason of D10's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// No words.
    Empty,
    /// Over 8 KiB.
    TooManyBytes,
    /// Over 64 words.
    TooManyWords,
    /// A NUL character.
    Nul,
    /// A quote that is opened there and never closed.
    OpenQuote { at: usize },
    /// The line ends in a backslash that quotes nothing.
    LoneBackslash { at: usize },
    /// A character on which a shell would act.
    Sign { at: usize },
}

impl Word {
    /// Makes a word that nobody quoted.
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.into(), quoted: Vec::new(), span: 0..0 }
    }

    fn starting(at: usize) -> Self {
        Self { text: String::new(), quoted: Vec::new(), span: at..at }
    }

    fn push_quoted(&mut self, c: char) {
        let from = self.text.len();
        self.text.push(c);
        match self.quoted.last_mut() {
            Some(last) if last.end == from => last.end = self.text.len(),
            Some(_) | None => self.quoted.push(from..self.text.len()),
        }
    }

    fn is_quoted(&self, at: usize) -> bool {
        self.quoted.iter().any(|range| range.contains(&at))
    }

    /// Says whether it holds a list in braces that a shell would expand: none of its signs quoted.
    pub(super) fn has_bare_brace_list(&self) -> bool {
        brace_list(&self.text, |at| !self.is_quoted(at)).is_some()
    }
}

/// Says whether the text holds a list in braces, quoted or not.
pub(super) fn has_brace_list(text: &str) -> bool {
    brace_list(text, |_| true).is_some()
}

/// Finds the first `{…,…}` or `{…..…}` whose signs all count.
pub(super) fn brace_list(text: &str, counts: impl Fn(usize) -> bool) -> Option<Range<usize>> {
    // Where each brace that is still open stands, and whether a list's sign followed it.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' if counts(at) => open.push((at, false)),
            b',' if counts(at) => mark_list(&mut open),
            b'.' if counts(at) && bytes.peek().is_some_and(|(at, next)| *next == b'.' && counts(*at)) => {
                mark_list(&mut open);
            }
            b'}' if counts(at) => {
                if let Some((from, true)) = open.pop() {
                    return Some(from..at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn mark_list(open: &mut [(usize, bool)]) {
    if let Some((_, is_list)) = open.last_mut() {
        *is_list = true;
    }
}

/// Finds the first sign in the text on which a shell would act were it not quoted. A path that names nothing may not
/// hold one: it was meant for a shell.
pub(super) fn shell_sign(text: &str) -> Option<char> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if is_sign(c, next, at == 0) || matches!(c, '*' | '?' | '[') {
            return Some(c);
        }
    }
    has_brace_list(text).then_some('{')
}

/// Reads a line.
pub(super) fn read(line: &str) -> Result<Vec<Word>, Fault> {
    if line.len() > COMMAND_BYTES {
        return Err(Fault::TooManyBytes);
    }
    let mut reader = Reader {
        chars: line.char_indices().peekable(),
        words: Vec::with_capacity(12),
        word: None,
        open: None,
        sign: None,
    };
    reader.read(line.len());
    let Reader { words, open, sign, .. } = reader;
    if words.is_empty() {
        return Err(open.unwrap_or(Fault::Empty));
    }
    if words.len() > COMMAND_WORDS {
        return Err(Fault::TooManyWords);
    }
    if line.contains('\0') {
        return Err(Fault::Nul);
    }
    match (open, sign) {
        (Some(fault), _) => Err(fault),
        (None, Some(at)) => Err(Fault::Sign { at }),
        (None, None) => Ok(words),
    }
}

struct Reader<'l> {
    chars: Peekable<CharIndices<'l>>,
    words: Vec<Word>,
    word: Option<Word>,
    open: Option<Fault>,
    sign: Option<usize>,
}

impl Reader<'_> {
    fn read(&mut self, end: usize) {
        while let Some((at, c)) = self.chars.next() {
            match c {
                ' ' | '\t' => self.end_word(at),
                '\'' => self.single_quotes(at),
                '"' => self.double_quotes(at),
                '\\' => match self.chars.next() {
                    None => {
                        self.word(at);
                        self.open = Some(Fault::LoneBackslash { at });
                    }
                    Some((_, '\n')) => {}
                    Some((_, c)) => self.word(at).push_quoted(c),
                },
                _ => {
                    let next = self.chars.peek().map(|(_, next)| *next);
                    if is_sign(c, next, self.word.is_none()) {
                        self.sign.get_or_insert(at);
                    }
                    self.word(at).text.push(c);
                }
            }
        }
        self.end_word(end);
    }

    fn word(&mut self, at: usize) -> &mut Word {
        self.word.get_or_insert_with(|| Word::starting(at))
    }

    fn end_word(&mut self, at: usize) {
        if let Some(mut word) = self.word.take() {
            word.span.end = at;
            self.words.push(word);
        }
    }

    fn single_quotes(&mut self, opened: usize) {
        self.word(opened);
        loop {
            match self.chars.next() {
                None => {
                    self.open = Some(Fault::OpenQuote { at: opened });
                    return;
                }
                Some((_, '\'')) => return,
                Some((_, c)) => self.word(opened).push_quoted(c),
            }
        }
    }

    fn double_quotes(&mut self, opened: usize) {
        self.word(opened);
        loop {
            let Some((at, c)) = self.chars.next() else {
                self.open = Some(Fault::OpenQuote { at: opened });
                return;
            };
            let next = self.chars.peek().map(|(_, next)| *next);
            match (c, next) {
                ('"', _) => return,
                ('\\', Some('\n')) => {
                    self.chars.next();
                }
                ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                    self.chars.next();
                    self.word(opened).push_quoted(escaped);
                }
                ('`', _) | ('$', Some('(')) => {
                    self.sign.get_or_insert(at);
                    self.word(opened).push_quoted(c);
                }
                _ => self.word(opened).push_quoted(c),
            }
        }
    }
}

/// Says whether a shell would act on a character outside quotes. `*`, `?`, `[` and braces are judged by where they stand.
fn is_sign(c: char, next: Option<char>, begins_word: bool) -> bool {
    match c {
        ';' | '&' | '|' | '<' | '>' | '(' | ')' | '`' => true,
        '~' | '#' => begins_word,
        '$' => next.is_some_and(|next| next.is_ascii_alphanumeric() || "_({'\"@*#?!$-".contains(next)),
        _ => c.is_ascii_control(),
    }
}

#[cfg(test)]
mod tests;
