//! A request to end the program from outside. At the prompt, only the terminal is listened to, so that nobody would hear it.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static AT_PROMPT: AtomicBool = AtomicBool::new(false);

/// Whether the program shall end.
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Tells that from now on, or no more, a line is waited for.
pub(super) fn at_prompt(waiting: bool) {
    AT_PROMPT.store(waiting, Ordering::SeqCst);
}

/// Listens for SIGTERM and SIGHUP. Elsewhere than at the prompt, a query that runs ends, and the shell with it.
#[cfg(unix)]
pub(super) fn listen() {
    use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    // Where listening is not possible, the shell ends with the next line.
    let Ok(mut signals) = Signals::new([SIGTERM, SIGHUP]) else { return };
    let before = tcgetattr(std::io::stdin()).ok();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            ASKED.store(true, Ordering::SeqCst);
            if AT_PROMPT.load(Ordering::SeqCst) {
                if let Some(mode) = &before {
                    let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, mode);
                }
                #[expect(clippy::disallowed_methods, reason = "the main thread waits for the terminal")]
                std::process::exit(130);
            }
        }
    });
}

/// Elsewhere, such requests come as Ctrl-C does.
#[cfg(not(unix))]
pub(super) fn listen() {}
