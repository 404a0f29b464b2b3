//! The progress bar of `etl` and `upload`, on stderr.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::etl::Progress;

/// Shortest work that shows a bar.
const PATIENCE: Duration = Duration::from_millis(500);

const TEMPLATE: &str = "{msg} [{bar:30}] {bytes}/{total_bytes} · {prefix} files · {binary_bytes_per_sec} · {eta} left";

/// Bytes, files, rate and time left.
pub struct Bar {
    began: Instant,
    drawn: ProgressBar,
    shown: Once,
    files: AtomicU64,
    all_files: AtomicU64,
}

impl Default for Bar {
    fn default() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self {
            began: Instant::now(),
            drawn: bar,
            shown: Once::new(),
            files: AtomicU64::new(0),
            all_files: AtomicU64::new(0),
        }
    }
}

impl Bar {
    fn show_when_it_lasts(&self) {
        if self.began.elapsed() > PATIENCE {
            self.shown.call_once(|| self.drawn.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }
}

impl Progress for Bar {
    fn start(&self, files: u64, bytes: u64) {
        self.all_files.store(files, Ordering::Relaxed);
        self.drawn.set_length(bytes);
        self.drawn.set_prefix(format!("{}/{files}", self.files.load(Ordering::Relaxed)));
        self.drawn.reset_eta();
    }

    fn advance(&self, files: u64, bytes: u64) {
        let read = self.files.fetch_add(files, Ordering::Relaxed) + files;
        self.show_when_it_lasts();
        if files > 0 {
            self.drawn.set_prefix(format!("{read}/{}", self.all_files.load(Ordering::Relaxed)));
        }
        self.drawn.inc(bytes);
    }

    fn stage(&self, name: &str) {
        self.show_when_it_lasts();
        self.drawn.set_message(name.to_owned());
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
