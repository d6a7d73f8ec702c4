//! Whether a Provider is asked again, and when (D17). Pure: time and chance are handed in.

use owl_domain::time::Timestamp;
use reqwest::header::HeaderMap;
use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, UNIX_EPOCH},
};

/// How many times one request is tried at most.
pub(crate) const MOST_TRIES: u32 = 5;
/// Owl's own wait after the first try; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait of Owl's own.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest wait that a service may ask for; a person should hear of a longer one.
pub(crate) const LONGEST_ASKED: Duration = Duration::from_secs(120);
/// The longest wait that is told, a year: what a service asks beyond it is no number that can be told or kept.
const LONGEST_TOLD: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Whether a failure may pass by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It stays.
    Never,
    /// It may pass once: a second one of the kind ends the Turn.
    Once,
    /// It may pass.
    Yes,
}

/// Returns how long to wait after try `attempt` (from 1): the larger of what was asked and Owl's own, times `factor`,
/// and never less than asked.
pub(crate) fn wait(attempt: u32, asked: Option<Duration>, factor: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
    let asked = asked.unwrap_or_default();
    doubled.min(LONGEST_WAIT).max(asked).mul_f64(factor).max(asked)
}

/// Returns a factor between 0.75 and 1.25, so that clients that failed together do not come back together.
pub(crate) fn chance() -> f64 {
    // A fresh `RandomState` is keyed by the system's randomness.
    let fraction = RandomState::new().hash_one(0_u8) % 1_001;
    0.75 + f64::from(u32::try_from(fraction).unwrap_or(0)) / 2_000.0
}

/// Returns how long the service asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
pub(crate) fn asked(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name| text(name)?.parse::<f64>().ok();
    if let Some(wait) = number("retry-after-ms").and_then(|millis| seconds(millis / 1_000.0)) {
        return Some(wait);
    }
    let after = text("retry-after")?;
    if let Some(number) = number("retry-after") {
        return seconds(number);
    }
    let date = httpdate::parse_http_date(after).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let date = Timestamp::from_millis(i64::try_from(date.as_millis()).ok()?);
    Some(date.since(now).min(LONGEST_TOLD))
}

/// Returns a wait of so many seconds, at most [`LONGEST_TOLD`]; none when the number means nothing.
fn seconds(number: f64) -> Option<Duration> {
    if number.is_nan() || number < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(number).unwrap_or(LONGEST_TOLD).min(LONGEST_TOLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_own_wait_doubles_up_to_a_minute() {
        let waits: Vec<_> = (1..=8).map(|n| wait(n, None, 1.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(wait(200, None, 1.0), secs(60));
    }

    #[test]
    fn a_wait_is_never_shorter_than_asked() {
        assert_eq!(wait(1, Some(secs(20)), 0.75), secs(20));
        assert_eq!(wait(1, Some(secs(20)), 1.25), secs(25));
        assert_eq!(wait(4, Some(secs(1)), 1.0), secs(8));
        assert_eq!(wait(4, Some(secs(7)), 0.75), secs(7));
    }

    #[test]
    fn chance_stays_within_a_quarter_and_is_not_always_the_same() {
        let factors: Vec<_> = (0..200).map(|_| chance()).collect();
        assert!(factors.iter().all(|f| (0.75..=1.25).contains(f)));
        assert!(factors.iter().any(|f| *f != factors[0]));
    }

    fn header(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        // 2026-11-30T21:04:05.123Z
        asked(&headers, Timestamp::from_millis(1_796_072_645_123))
    }

    #[test]
    fn what_a_service_asks_for_is_read_in_every_form() {
        assert_eq!(header("retry-after", "7"), Some(secs(7)));
        assert_eq!(header("retry-after", " 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(header("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(header("retry-after", "Mon, 30 Nov 2026 21:04:35 GMT"), Some(Duration::from_millis(29_877)));
        assert_eq!(header("retry-after", "Mon, 30 Nov 2026 21:04:05 GMT"), Some(Duration::ZERO));
        assert_eq!(header("x-other", "7"), None);
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for value in ["", "soon", "-1", "NaN", "-inf", "99 seconds"] {
            assert_eq!(header("retry-after", value), None, "{value}");
        }
    }

    #[test]
    fn a_wait_that_does_not_fit_is_too_long_and_not_nothing() {
        for name in ["retry-after", "retry-after-ms"] {
            for value in ["99999999999999999999", "inf", "1e300", "1e18"] {
                assert_eq!(header(name, value), Some(LONGEST_TOLD), "{name}: {value}");
            }
        }
        assert_eq!(header("retry-after", "Sat, 30 Nov 9996 21:04:35 GMT"), Some(LONGEST_TOLD));
    }

    #[test]
    fn the_finer_of_two_headers_counts() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "9".parse().unwrap());
        headers.insert("retry-after-ms", "1500".parse().unwrap());
        assert_eq!(asked(&headers, Timestamp::default()), Some(Duration::from_millis(1500)));
        headers.insert("retry-after-ms", "soon".parse().unwrap());
        assert_eq!(asked(&headers, Timestamp::default()), Some(secs(9)));
    }
}
