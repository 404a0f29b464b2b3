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
/// Most columns of the line.
const WIDEST: usize = 60;
/// Columns between the name of the stage and the words: spaces and percent.
const PERCENT: usize = "   100%  ".len();
/// Columns of the longest and the shortest bar.
const LONGEST: usize = 18;
const SHORTEST: usize = 8;

const UNCOUNTED: &str = "{prefix}";

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
    /// Columns of the bar. It grows only when a stage begins, so that it keeps still.
    columns: usize,
}

impl Bar {
    /// Creates a bar, which is not drawn before the work has taken half a second, and never if it is not wanted.
    pub fn new(is_wanted: bool, is_coloured: bool) -> Self {
        let (drawn, began) = (ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden()), Instant::now());
        let work = Mutex::new(Work::begin(Stage::Looking));
        Self { began, is_wanted, is_coloured, drawn, shown: Once::new(), work }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show_when_it_lasts(&self) {
        if self.is_wanted && self.began.elapsed() > PATIENCE {
            self.shown.call_once(|| self.drawn.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    fn style_bar(&self, columns: usize) {
        let colours = if self.is_coloured { ".green/dim" } else { "" };
        self.style(&format!("{{prefix}}  {{bar:{columns}{colours}}} {{percent:>3}}%  {{msg}}"));
    }

    fn style(&self, template: &str) {
        let chars = if Signs::of_environment() == Signs::UNICODE { "━╸─" } else { "=>-" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.drawn.set_style(style.progress_chars(chars));
        }
    }
}

impl Work {
    fn begin(stage: Stage) -> Self {
        let began = Instant::now();
        Self { began, stage, items: 0, bytes: 0, items_done: 0, bytes_done: 0, columns: LONGEST }
    }

    /// Returns how many of the steps are done.
    fn steps(&self) -> u64 {
        let (done, all) = if self.bytes > 0 { (self.bytes_done, self.bytes) } else { (self.items_done, self.items) };
        let steps = u128::from(done) * u128::from(STEPS) / u128::from(all.max(1));
        u64::try_from(steps).unwrap_or(STEPS).min(STEPS)
    }

    /// Returns the columns of the bar and the words after it.
    fn line(&self) -> (usize, String) {
        let room = WIDEST.saturating_sub(name(self.stage).len() + PERCENT);
        let (done, left) = (self.done(), self.left());
        let parts: Vec<&str> = [Some(done.as_str()), left.as_deref()].into_iter().flatten().collect();
        let words = parts.join("  ");
        // The percentage says already how much is done.
        let words = if words.len() + SHORTEST > room { left.unwrap_or(done) } else { words };
        (self.columns.min(room.saturating_sub(words.len())), words)
    }

    /// Returns what is done in words.
    fn done(&self) -> String {
        let size = |bytes: u64| value::size(i64::try_from(bytes).unwrap_or(i64::MAX));
        match self.bytes {
            0 => format!("{} of {}", self.items_done.min(self.items), value::plural(self.items, self.noun())),
            bytes => format!("{} of {}", size(self.bytes_done.min(bytes)), size(bytes)),
        }
    }

    /// Returns how long the rest may take.
    fn left(&self) -> Option<String> {
        let (took, steps) = (self.began.elapsed(), self.steps());
        if took < STEADY || steps == 0 || steps == STEPS {
            return None;
        }
        let left = took.as_secs_f64() * (STEPS - steps) as f64 / steps as f64;
        Some(if left < 60.0 { format!("{left:.0} s left") } else { format!("{:.0} min left", (left / 60.0).ceil()) })
    }

    fn noun(&self) -> &'static str {
        if self.stage == Stage::Detecting { "detector" } else { "file" }
    }
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Looking => "Looking for changes",
        Stage::Reading => "Reading",
        Stage::Writing => "Writing the lake",
        Stage::Uploading => "Uploading",
        Stage::Detecting => "Detecting",
    }
}

impl Progress for Bar {
    fn stage(&self, stage: Stage) {
        {
            let mut work = self.work();
            if work.stage != stage {
                *work = Work::begin(stage);
            }
        }
        self.drawn.set_prefix(name(stage));
        self.style(UNCOUNTED);
        self.show_when_it_lasts();
        self.drawn.set_position(0);
    }

    fn start(&self, items: u64, bytes: u64) {
        let columns = {
            let mut work = self.work();
            (work.items, work.bytes) = (items, bytes);
            work.columns
        };
        self.style_bar(columns);
    }

    fn advance(&self, items: u64, bytes: u64) {
        let (work, columns, words) = {
            let mut work = self.work();
            work.items_done += items;
            work.bytes_done += bytes;
            let before = *work;
            let (columns, words) = work.line();
            work.columns = columns;
            (before, columns, words)
        };
        self.show_when_it_lasts();
        if columns != work.columns {
            self.style_bar(columns);
        }
        if self.drawn.is_hidden() {
            return;
        }
        self.drawn.set_message(words);
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
        Work { items, bytes, items_done, bytes_done, ..Work::begin(stage) }
    }

    #[test]
    fn bytes_count_if_there_are_any() {
        let reading = work(Stage::Reading, (3, 10), (358 << 20, 617 << 20));
        assert_eq!((reading.steps(), reading.done().as_str()), (580, "358 MiB of 617 MiB"));
        let detecting = work(Stage::Detecting, (10, 16), (0, 0));
        assert_eq!((detecting.steps(), detecting.done().as_str()), (625, "10 of 16 detectors"));
    }

    #[test]
    fn a_bar_never_passes_its_end() {
        let grown = work(Stage::Reading, (12, 10), (u64::MAX, 100));
        assert_eq!((grown.steps(), grown.done().as_str()), (STEPS, "100 B of 100 B"));
        assert_eq!(work(Stage::Reading, (0, 0), (0, 0)).steps(), 0);
    }

    #[test]
    fn the_time_left_needs_a_steady_rate() {
        let mut reading = work(Stage::Reading, (1, 4), (0, 0));
        assert_eq!(reading.line(), (LONGEST, "1 of 4 files".to_owned()));
        reading.began -= Duration::from_secs(5);
        assert_eq!(reading.line(), (LONGEST, "1 of 4 files  15 s left".to_owned()));
    }

    #[test]
    fn a_line_has_sixty_columns_at_most() {
        let line = |stage, items, bytes| {
            let mut work = work(stage, items, bytes);
            work.began -= Duration::from_secs(8);
            let (columns, words) = work.line();
            let line = format!("{}  {} 100%  {words}", name(stage), "-".repeat(columns));
            assert!(line.len() <= WIDEST, "{line}");
            line
        };
        let lines = [
            line(Stage::Reading, (0, 0), (238 << 20, 954 << 20)),
            line(Stage::Detecting, (10, 22), (0, 0)),
            line(Stage::Uploading, (0, 0), (1, 1023 << 20)),
            line(Stage::Writing, (7_000, 12_000), (0, 0)),
            line(Stage::Looking, (700, 12_000), (0, 0)),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        Reading  --------------- 100%  238 MiB of 954 MiB  24 s left
        Detecting  ------------- 100%  10 of 22 detectors  10 s left
        Uploading  ------------------ 100%  1 B of 1.0 GiB
        Writing the lake  ------------------ 100%  6 s left
        Looking for changes  ------------------ 100%  3 min left
        ");
    }
}
