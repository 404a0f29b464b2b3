//! The progress bar, on stderr.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{Progress, Stage};
use crate::shown::{Signs, value};

/// Shortest work that shows a bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// Shortest time from which the time left is estimated.
const STEADY: Duration = Duration::from_secs(2);
/// Steps of the bar.
const STEPS: u64 = 1_000;

const UNCOUNTED: &str = "{prefix}";
const COUNTED: &str = "{prefix}  {bar:18} {percent:>3}%  {msg}";
const COLOURED: &str = "{prefix}  {bar:18.green/dim} {percent:>3}%  {msg}";

/// A bar with the work that is done and the time left. It never goes back, and never passes 100 %.
#[derive(Debug)]
pub struct Bar {
    began: Instant,
    is_wanted: bool,
    is_coloured: bool,
    drawn: ProgressBar,
    shown: Once,
    work: Mutex<Work>,
}

/// The work of a stage.
#[derive(Debug, Clone, Copy)]
struct Work {
    began: Instant,
    stage: Stage,
    items: u64,
    bytes: u64,
    items_done: u64,
    bytes_done: u64,
}

impl Bar {
    /// Creates a bar, which is not drawn before the work has taken half a second, and never if it is not wanted.
    pub fn new(is_wanted: bool, is_coloured: bool) -> Self {
        let (drawn, began) = (ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden()), Instant::now());
        let work = Work { began, stage: Stage::Looking, items: 0, bytes: 0, items_done: 0, bytes_done: 0 };
        Self { began, is_wanted, is_coloured, drawn, shown: Once::new(), work: Mutex::new(work) }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show_when_it_lasts(&self) {
        if self.is_wanted && self.began.elapsed() > PATIENCE {
            self.shown.call_once(|| self.drawn.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    fn style(&self, template: &str) {
        let chars = if Signs::of_environment() == Signs::UNICODE { "━╸─" } else { "=>-" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.drawn.set_style(style.progress_chars(chars));
        }
    }
}

impl Work {
    /// Returns how many of the steps are done.
    fn steps(&self) -> u64 {
        let (done, all) = if self.bytes > 0 { (self.bytes_done, self.bytes) } else { (self.items_done, self.items) };
        let steps = u128::from(done) * u128::from(STEPS) / u128::from(all.max(1));
        u64::try_from(steps).unwrap_or(STEPS).min(STEPS)
    }

    /// Returns what is done in words, and how long the rest may take.
    fn in_words(&self) -> String {
        let size = |bytes: u64| value::size(i64::try_from(bytes).unwrap_or(i64::MAX));
        let done = match self.bytes {
            0 => format!("{} of {}", self.items_done.min(self.items), value::plural(self.items, self.noun())),
            bytes => format!("{} of {}", size(self.bytes_done.min(bytes)), size(bytes)),
        };
        let (took, steps) = (self.began.elapsed(), self.steps());
        if took < STEADY || steps == 0 || steps == STEPS {
            return done;
        }
        let left = took.as_secs_f64() * (STEPS - steps) as f64 / steps as f64;
        let left = if left < 60.0 { format!("{left:.0} s") } else { format!("{:.0} min", (left / 60.0).ceil()) };
        format!("{done}  {left} left")
    }

    fn noun(&self) -> &'static str {
        if self.stage == Stage::Detecting { "detector" } else { "file" }
    }
}

impl Progress for Bar {
    fn stage(&self, stage: Stage) {
        {
            let mut work = self.work();
            if work.stage != stage {
                *work = Work { began: Instant::now(), stage, items: 0, bytes: 0, items_done: 0, bytes_done: 0 };
            }
        }
        self.drawn.set_prefix(match stage {
            Stage::Looking => "Looking for changes",
            Stage::Reading => "Reading",
            Stage::Writing => "Writing the lake",
            Stage::Uploading => "Uploading",
            Stage::Detecting => "Detecting",
        });
        self.style(UNCOUNTED);
        self.show_when_it_lasts();
        self.drawn.set_position(0);
    }

    fn start(&self, items: u64, bytes: u64) {
        {
            let mut work = self.work();
            (work.items, work.bytes) = (items, bytes);
        }
        self.style(if self.is_coloured { COLOURED } else { COUNTED });
    }

    fn advance(&self, items: u64, bytes: u64) {
        let work = {
            let mut work = self.work();
            work.items_done += items;
            work.bytes_done += bytes;
            *work
        };
        self.show_when_it_lasts();
        if self.drawn.is_hidden() {
            return;
        }
        self.drawn.set_message(work.in_words());
        self.drawn.set_position(work.steps().max(self.drawn.position()));
    }

    fn finish(&self) {
        self.drawn.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.drawn.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(stage: Stage, items: (u64, u64), bytes: (u64, u64)) -> Work {
        let (items_done, items) = items;
        let (bytes_done, bytes) = bytes;
        Work { began: Instant::now(), stage, items, bytes, items_done, bytes_done }
    }

    #[test]
    fn bytes_count_if_there_are_any() {
        let reading = work(Stage::Reading, (3, 10), (358 << 20, 617 << 20));
        assert_eq!((reading.steps(), reading.in_words().as_str()), (580, "358 MiB of 617 MiB"));
        let detecting = work(Stage::Detecting, (10, 16), (0, 0));
        assert_eq!((detecting.steps(), detecting.in_words().as_str()), (625, "10 of 16 detectors"));
    }

    #[test]
    fn a_bar_never_passes_its_end() {
        let grown = work(Stage::Reading, (12, 10), (u64::MAX, 100));
        assert_eq!((grown.steps(), grown.in_words().as_str()), (STEPS, "100 B of 100 B"));
        assert_eq!(work(Stage::Reading, (0, 0), (0, 0)).steps(), 0);
    }

    #[test]
    fn the_time_left_needs_a_steady_rate() {
        let mut reading = work(Stage::Reading, (1, 4), (0, 0));
        assert_eq!(reading.in_words(), "1 of 4 files");
        reading.began -= Duration::from_secs(5);
        assert!(reading.in_words().starts_with("1 of 4 files  1"), "{}", reading.in_words());
        assert!(reading.in_words().ends_with(" s left"), "{}", reading.in_words());
    }
}
