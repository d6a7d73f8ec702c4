//! A moment in UTC, in milliseconds. The domain has no clock: moments come from the [`Clock`](crate::ports::Clock) port.

use alloc::string::String;
use core::{fmt, str::FromStr, time::Duration};

const DAY_MS: i64 = 86_400_000;

/// A moment, in milliseconds since 1970 in UTC. Written as RFC 3339 with exactly three fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Wraps milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the moment that much later; the last one there is when that overflows.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns how long before `self` the `earlier` moment was; nothing when it was not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(DAY_MS);
        let in_day = self.0.rem_euclid(DAY_MS);
        let (year, month, day) = civil(days);
        let (seconds, millis) = (in_day / 1000, in_day % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Says that a text is not a moment in the one form that Owl writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time like 2026-11-30T21:04:05.123Z")]
pub struct NotATime(pub String);

impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        parse(text).filter(|t| alloc::format!("{t}") == text).ok_or_else(|| NotATime(text.into()))
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let in_day = ((number(11, 13)? * 60 + number(14, 16)?) * 60 + number(17, 19)?) * 1000 + number(20, 23)?;
    Some(Timestamp(days * DAY_MS + in_day))
}

/// Year, month and day of a day number since 1970 (Howard Hinnant's algorithm for the proleptic Gregorian calendar).
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_written_with_three_fractional_digits() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_796_072_645_123).to_string(), "2026-11-30T21:04:05.123Z");
        assert_eq!(Timestamp(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn another_form_is_not_read() {
        for text in ["", "2026-11-30", "2026-13-01T00:00:00.000Z", "2026-11-30T21:04:05Z", "2026-02-30T00:00:00.000Z"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in 0i64..253_402_300_800_000) {
            prop_assert_eq!(Timestamp(millis).to_string().parse(), Ok(Timestamp(millis)));
        }
    }
}
