//! Output that is bounded while it is read: the first and the last part, what was left out between them, and how much
//! of it was no text (D14). Reading goes on to the end, so that no program waits for a reader.

use owl_domain::text::Clipped;

/// One stream of a program. Memory stays flat however much comes.
#[derive(Debug)]
pub(crate) struct Capture {
    head_bytes: usize,
    tail_bytes: usize,
    head: Vec<u8>,
    /// The end of what came behind `head`: at most twice `tail_bytes` between two pieces.
    rest: Vec<u8>,
    bytes: u64,
    /// How much of `head` was handed out by [`Self::take`].
    told: usize,
}

impl Capture {
    pub(crate) fn new(head_bytes: usize, tail_bytes: usize) -> Self {
        Self { head_bytes, tail_bytes, head: Vec::new(), rest: Vec::new(), bytes: 0, told: 0 }
    }

    /// Takes what was read. Returns, decoded, what it adds to the first part: whole characters only.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> String {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a piece that is longer than the tail only its end can matter.
        self.rest.extend_from_slice(last(rest, self.tail_bytes + 1));
        if self.rest.len() > 2 * self.tail_bytes {
            let too_many = self.rest.len() - self.tail_bytes - 1;
            self.rest.drain(..too_many);
        }
        let new = self.head.get(self.told..).unwrap_or_default();
        let whole = new.get(..new.len() - unfinished(new)).unwrap_or_default();
        self.told += whole.len();
        decode(whole).0
    }

    /// Returns what is kept.
    pub(crate) fn finish(mut self) -> Clipped {
        let bytes = self.bytes;
        let kept = (self.head_bytes + self.tail_bytes) as u64;
        if bytes <= kept {
            self.head.append(&mut self.rest);
            let (head, replaced_bytes) = decode(&self.head);
            return Clipped { head, bytes, replaced_bytes, ..Clipped::default() };
        }
        let head = self.head.get(..self.head.len() - unfinished(&self.head)).unwrap_or_default();
        let tail = last(&self.rest, self.tail_bytes);
        // Up to three bytes of a character whose beginning was left out.
        let cut = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let tail = tail.get(cut..).unwrap_or_default();
        let omitted_bytes = bytes - (head.len() + tail.len()) as u64;
        let ((head, in_head), (tail, in_tail)) = (decode(head), decode(tail));
        Clipped { head, tail, bytes, omitted_bytes, replaced_bytes: in_head + in_tail }
    }
}

fn last(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default()
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Returns how many bytes at the end may be the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let end = last(bytes, 3);
    let Some(start) = end.iter().rposition(|byte| !is_continuation(*byte)) else { return 0 };
    let begun = end.get(start..).unwrap_or_default();
    match std::str::from_utf8(begun) {
        Err(e) if e.error_len().is_none() => begun.len(),
        _ => 0,
    }
}

/// Decodes, and counts the bytes that were not UTF-8.
fn decode(bytes: &[u8]) -> (String, u64) {
    let mut text = String::with_capacity(bytes.len());
    let mut replaced = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += chunk.invalid().len() as u64;
        }
    }
    (text, replaced)
}

#[cfg(test)]
mod tests;
