//! A duration as a person writes it: `300ms`, `15m`, `4h`.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads one whole number and one unit.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let millis = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    Some(Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(millis)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_are_read_and_nothing_else() {
        assert_eq!(parse("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(parse("1h"), Some(Duration::from_secs(3600)));
        assert_eq!(parse("7d"), Some(Duration::from_secs(7 * 86400)));
        for text in ["", "1", "h", "1 h", "1.5h", "-1h", "1w", "1h30m", "99999999999999999999d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
