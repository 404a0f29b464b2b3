//! Retries after broken connections. The store's client retries everything else by itself.

use std::time::Duration;

use object_store::Result;

use super::trouble::is_passing;

/// Most retries.
const TRIES: u32 = 4;
/// Pause before the first retry. Each pause is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats an operation that a broken connection cut off. Only for operations that may run twice.
pub(crate) async fn persistently<T, F: Future<Output = Result<T>>>(operation: impl Fn() -> F) -> Result<T> {
    let mut pause = PAUSE;
    for _ in 0..TRIES {
        match operation().await {
            Err(error) if is_passing(&error) => tokio::time::sleep(pause).await,
            outcome => return outcome,
        }
        pause *= 2;
    }
    operation().await
}
