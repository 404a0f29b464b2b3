//! The store's client tries again by itself where it is sure that it may; broken connections remain.

use std::time::Duration;

use object_store::Result;

use super::trouble::is_passing;

/// Tries beyond the first.
const TRIES: u32 = 4;
/// Pause before the first of them; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(200);

/// Does again what a broken connection cut off. Only for what may happen twice.
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
