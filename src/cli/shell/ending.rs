//! Requests to end the program from outside. At the prompt, the editor waits for the terminal only and would miss them.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static AT_PROMPT: AtomicBool = AtomicBool::new(false);

/// True if the program should end.
pub(super) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Records whether the shell waits for a line.
pub(super) fn at_prompt(waiting: bool) {
    AT_PROMPT.store(waiting, Ordering::SeqCst);
}

/// Listens for SIGTERM and SIGHUP. While a query runs, they end the query, and then the shell.
#[cfg(unix)]
pub(super) fn listen() {
    use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without a listener, the shell ends after the next line.
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

/// On other systems, such requests arrive like Ctrl-C.
#[cfg(not(unix))]
pub(super) fn listen() {}
