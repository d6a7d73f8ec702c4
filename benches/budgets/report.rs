//! Rows, rounds and the verdict: ratios side by side in one run, alternating, the first rounds dropped.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

const ROUNDS: usize = 9;
const DROPPED: usize = 2;
/// The yardstick where the absolute budgets were set.
const YARDSTICK: Duration = Duration::from_micros(7);

/// All rows, and which of them are wanted.
pub(crate) struct Report {
    wanted: Vec<String>,
    yardstick: Duration,
    over: bool,
}

/// What a ratio must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    AtMost(f64),
    AtLeast(f64),
}

impl Report {
    pub(crate) fn new(wanted: Vec<String>) -> Self {
        let yardstick = yardstick();
        println!("Y    parsing a proposal: {yardstick:?} (absolute budgets are multiplied where this is over 7 us)");
        println!("B    what                                 ours        baseline    ratio  (min..max)     budget");
        Self { wanted, yardstick, over: false }
    }

    /// Says whether a row is to be measured.
    pub(crate) fn wants(&self, id: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == id)
    }

    /// Measures ours and the baseline in turns, and judges the median of the rounds' ratios (ours by baseline).
    pub(crate) fn ratio(
        &mut self,
        id: &str,
        what: &str,
        budget: Budget,
        mut ours: impl FnMut() -> f64,
        mut baseline: impl FnMut() -> f64,
        shown: fn(f64) -> String,
    ) {
        let mut pairs = Vec::new();
        for round in 0..ROUNDS {
            let (a, b) = if round % 2 == 0 {
                let a = ours();
                (a, baseline())
            } else {
                let b = baseline();
                (ours(), b)
            };
            if round >= DROPPED {
                pairs.push((a, b));
            }
        }
        let mut ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        let baselines = pairs.iter().map(|(_, b)| *b);
        let noisy = baselines.clone().fold(f64::MIN, f64::max) > 2.0 * baselines.fold(f64::MAX, f64::min);
        let (holds, budget) = match budget {
            Budget::AtMost(most) => (median <= most, format!("<= {most}")),
            Budget::AtLeast(least) => (median >= least, format!(">= {least}")),
        };
        let verdict = self.verdict(holds, noisy);
        let middle = |pick: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = pairs.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            shown(all[all.len() / 2])
        };
        println!(
            "{id:<4} {what:<36} {:<11} {:<11} {median:<6.2} {:>5.2}..{:<7.2} {budget:<10} {verdict}",
            middle(|pair| pair.0),
            middle(|pair| pair.1),
            ratios[0],
            ratios[ratios.len() - 1],
        );
    }

    /// Judges a time against an absolute budget, on a slower machine against a larger one.
    pub(crate) fn time(&mut self, id: &str, what: &str, took: Duration, budget: Duration, beside: &str) {
        let slower = (self.yardstick.as_secs_f64() / YARDSTICK.as_secs_f64()).max(1.0);
        let allowed = budget.mul_f64(slower);
        let verdict = self.verdict(took <= allowed, false);
        println!("{id:<4} {what:<36} {:<11} {beside:<33} <= {budget:<8?} {verdict}", format!("{took:.1?}"));
    }

    /// Judges a number that is no time.
    pub(crate) fn number(&mut self, id: &str, what: &str, holds: bool, number: &str, beside: &str, budget: &str) {
        let verdict = self.verdict(holds, false);
        println!("{id:<4} {what:<36} {number:<11} {beside:<33} {budget:<11} {verdict}");
    }

    fn verdict(&mut self, holds: bool, noisy: bool) -> &'static str {
        match (holds, noisy) {
            (true, _) => "ok",
            (false, true) => "noisy",
            (false, false) => {
                self.over = true;
                "OVER"
            }
        }
    }

    pub(crate) fn print(self) -> ExitCode {
        if self.over { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// The middle of some times.
pub(crate) fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}

/// Seconds as microseconds.
pub(crate) fn micros(seconds: f64) -> String {
    format!("{:.1} us", seconds * 1e6)
}

/// Things per second.
pub(crate) fn per_second(number: f64) -> String {
    if number >= 1e6 { format!("{:.2} M/s", number / 1e6) } else { format!("{:.0} k/s", number / 1e3) }
}

fn yardstick() -> Duration {
    let times = (0..2_000).map(|_| {
        let start = Instant::now();
        std::hint::black_box(serde_json::from_str::<serde_json::Value>(PROPOSAL).unwrap());
        start.elapsed()
    });
    percentile(times.collect(), 50)
}

const PROPOSAL: &str = r#"{"id":"p_3","conversation_id":"c_12","turn_id":"t_40","item_id":"i_9","state":"pending","created_at":"2026-11-30T21:04:05.123Z","expires_at":"2026-11-30T22:04:05.123Z","command":{"requested":"grep -rn TODO src","program":"/usr/bin/grep","argv":["grep","--exclude-dir=.git","-r","-n","--exclude-dir=.[gG][iI][tT]","--exclude=.[gG][iI][tT]","--","TODO","src"],"added":[1,4,5],"env":{"HOME":"/nonexistent","LC_ALL":"C.UTF-8","PATH":"/usr/bin:/bin"},"display":"grep --exclude-dir=.git -r -n \"--exclude-dir=.[gG][iI][tT]\" \"--exclude=.[gG][iI][tT]\" -- TODO src"},"workdir":"/home/u/my-app","project":"my-app","digest":"sha256:38c766089048073d31c5cb8eeae73683d18433aaae7f504598ebb240a9c48c41","remember":{"covers":"grep in /home/u/my-app, in this conversation, until revoked"},"confinement":"gate+landlock+seccomp","decided_by":null,"decided_at":null,"reason":null,"grant_id":null}"#;
