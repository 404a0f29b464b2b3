//! Ctrl-C: a flag that long work looks at, and a future that ends queries.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures::task::AtomicWaker;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicWaker = AtomicWaker::new();

/// Whether the person asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Takes an earlier request back: it was for work that has ended.
pub(crate) fn forget() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Makes Ctrl-C, and a request to terminate, set the flag. Where that is not possible, the system's own handling stays.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::Relaxed);
        WAITING.wake();
    });
    // By default, the system ends a program whose file outgrows a limit; with a handler, the write fails and says why.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Ends when the person asks to stop.
pub(crate) async fn asked() {
    poll_fn(|context| {
        WAITING.register(context.waker());
        if interrupted() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
