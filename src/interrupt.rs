//! Ctrl-C: a flag that long work checks, a future that ends queries, and a deadline for everything else.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::task::AtomicWaker;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicWaker = AtomicWaker::new();
/// True if the process continues after an interruption, as a shell does.
static GOES_ON: AtomicBool = AtomicBool::new(false);
/// Number of steps in progress that should not be cut off.
static UNCUT: AtomicUsize = AtomicUsize::new(0);
/// A folder with notes about running work, for the case that the process dies. An interruption is no death.
static NOTES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Time that work has to stop by itself. Then the process ends; a lake survives that, like a crash.
const GRACE: Duration = Duration::from_millis(800);
/// Pause while waiting for steps that should not be cut off.
const PAUSE: Duration = Duration::from_millis(10);

/// True if the person asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Resets the flag, after the work that it was for has ended.
pub(crate) fn forget() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Installs a handler that sets the flag on Ctrl-C and on requests to terminate. If that fails, the system's own
/// handling stays. Work that does not stop in time is ended by `end`.
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
    // By default, the system ends a process whose file outgrows a limit. With a handler, the write fails with an error.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Sets a folder to be removed if work has to be ended.
pub(crate) fn remove_at_end(folder: PathBuf) {
    *NOTES.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Declares that the process continues after an interruption.
pub(crate) fn go_on() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// Runs a short step that should not be cut off.
pub(crate) fn uncut<T>(work: impl FnOnce() -> T) -> T {
    UNCUT.fetch_add(1, Ordering::Relaxed);
    let done = work();
    UNCUT.fetch_sub(1, Ordering::Relaxed);
    done
}

/// Completes when the person asks to stop.
pub(crate) async fn asked() {
    poll_fn(|context| {
        WAITING.register(context.waker());
        if interrupted() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
