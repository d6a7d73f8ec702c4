//! How long Owl waits for a Provider, in one place (D17).

use std::time::Duration;

/// The time limits of a request, and the one setting that the waits between tries scale with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// What each wait between two tries is divided by: 1 in earnest, more in tests.
    pub waits_divided_by: u32,
    /// Until a connection stands.
    pub connect: Duration,
    /// Until the headers of the answer are there.
    pub headers: Duration,
    /// Between two bytes of a reply; comments and pings count as bytes.
    pub idle: Duration,
    /// For one whole reply.
    pub reply: Duration,
    /// No try starts later than this after the first one.
    pub last_try: Duration,
    /// For one request that is no chat: a page of models, a test of a key.
    pub lookup: Duration,
    /// Between two words of the demo.
    pub demo_word: Duration,
}

impl Pace {
    /// How Owl waits in earnest.
    pub const EARNEST: Self = Self {
        waits_divided_by: 1,
        connect: Duration::from_secs(10),
        headers: Duration::from_secs(120),
        idle: Duration::from_secs(90),
        reply: Duration::from_secs(30 * 60),
        last_try: Duration::from_secs(5 * 60),
        lookup: Duration::from_secs(30),
        demo_word: Duration::from_millis(15),
    };

    /// How tests wait: a thousandth between tries, no time between the demo's words, and the limits as they are.
    pub const QUICK: Self = Self { waits_divided_by: 1_000, demo_word: Duration::ZERO, ..Self::EARNEST };
}

impl Default for Pace {
    fn default() -> Self {
        Self::EARNEST
    }
}
