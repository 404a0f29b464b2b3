//! Ctrl-C: a flag that long work looks at, a future that ends queries, and an end for what does neither.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::task::AtomicWaker;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicWaker = AtomicWaker::new();
/// True if the program goes on after an interruption, as a shell does.
static GOES_ON: AtomicBool = AtomicBool::new(false);
/// Steps in progress that are better not cut off.
static UNCUT: AtomicUsize = AtomicUsize::new(0);
/// A folder that says what the program was doing, for the case that it dies: to be interrupted is no death.
static NOTES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// How long work may take to see that it is to stop. Then the program ends: a lake survives that, as it does a crash.
const GRACE: Duration = Duration::from_millis(800);
/// How long to wait for steps that are better not cut off, at a time.
const PAUSE: Duration = Duration::from_millis(10);

/// Whether the person asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Takes an earlier request back: it was for work that has ended.
pub(crate) fn forget() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Makes Ctrl-C, and a request to terminate, set the flag. Where that is not possible, the system's own handling stays.
/// What does not stop soon is ended, by `end`.
pub(crate) fn listen(end: impl Fn() + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        INTERRUPTED.store(true, Ordering::Relaxed);
        WAITING.wake();
        if GOES_ON.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(GRACE);
        while UNCUT.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(PAUSE);
        }
        let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = notes.map(|folder| crate::lake::fs::remove_folder(&folder));
        end();
    });
    // By default, the system ends a program whose file outgrows a limit; with a handler, the write fails and says why.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Removes a folder when work is ended that does not stop by itself.
pub(crate) fn remove_at_end(folder: PathBuf) {
    *NOTES.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Says that the program goes on after an interruption.
pub(crate) fn go_on() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// Does something that is better not cut off, and is short.
pub(crate) fn uncut<T>(work: impl FnOnce() -> T) -> T {
    UNCUT.fetch_add(1, Ordering::Relaxed);
    let done = work();
    UNCUT.fetch_sub(1, Ordering::Relaxed);
    done
}

/// Ends when the person asks to stop.
pub(crate) async fn asked() {
    poll_fn(|context| {
        WAITING.register(context.waker());
        if interrupted() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
