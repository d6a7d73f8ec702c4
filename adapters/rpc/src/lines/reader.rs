//! Cuts what comes into lines, whatever pieces it comes in. A line over the limit is skipped without being held.

/// What was sent so far and not yet taken.
#[derive(Debug)]
pub(super) struct LineReader {
    held: Vec<u8>,
    /// Where the next line begins in `held`.
    start: usize,
    /// Up to where `held` holds no line feed behind `start`.
    searched: usize,
    /// Whether what comes belongs to a line that was refused.
    skipping: bool,
    limit: usize,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line without its end.
    Whole(&'a [u8]),
    /// One over the limit; the rest of it is skipped.
    TooLong,
}

/// How much is read at once.
const CHUNK: usize = 8 * 1024;
/// Above this an empty buffer is given back: most connections send short lines and idle.
const KEPT: usize = 64 * 1024;

impl LineReader {
    pub(super) fn new(limit: usize) -> Self {
        Self { held: Vec::new(), start: 0, searched: 0, skipping: false, limit }
    }

    /// Returns the buffer to read the next bytes into, behind what it holds.
    pub(super) fn space(&mut self) -> &mut Vec<u8> {
        if self.start == self.held.len() {
            self.held.clear();
            if self.held.capacity() > KEPT {
                self.held = Vec::new();
            }
        } else if self.start > 0 {
            self.held.drain(..self.start);
        }
        self.searched -= self.start.min(self.searched);
        self.start = 0;
        self.held.reserve(CHUNK);
        &mut self.held
    }

    /// Takes the next line that is whole; none when more must come first.
    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let end = self.held.get(self.searched..)?.iter().position(|byte| *byte == b'\n');
            let Some(end) = end.map(|end| end + self.searched) else {
                self.searched = self.held.len();
                // One byte more for a CR that may stand before the LF.
                if !self.skipping && self.searched - self.start <= self.limit + 1 {
                    return None;
                }
                self.start = self.searched;
                let first = !std::mem::replace(&mut self.skipping, true);
                return first.then_some(Line::TooLong);
            };
            let line = self.start..end;
            self.start = end + 1;
            self.searched = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            return Some(self.cut(line));
        }
    }

    /// Takes what stands behind the last line feed, once nothing more comes.
    pub(super) fn rest(&mut self) -> Option<Line<'_>> {
        let line = self.start..self.held.len();
        self.start = line.end;
        self.searched = line.end;
        (!line.is_empty() && !self.skipping).then(|| self.cut(line))
    }

    fn cut(&self, line: std::ops::Range<usize>) -> Line<'_> {
        let line = self.held.get(line).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limit { Line::TooLong } else { Line::Whole(line) }
    }
}

#[cfg(test)]
mod tests;
