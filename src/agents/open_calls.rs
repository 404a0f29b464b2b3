//! A bound on the calls that wait for their results. Real sources have few; in a damaged one, no call may get its result.

/// The problem of a source with too many of them.
pub(super) const TOO_MANY: &str = "too many calls wait for their results; they are stored without results";

/// Bytes of the calls that wait.
#[derive(Default)]
pub(super) struct OpenBytes(usize);

impl OpenBytes {
    const MOST: usize = 32 << 20;

    /// Adds a call. Returns true if all that wait, it included, take too much memory.
    pub(super) fn exceed(&mut self, call: usize, all: impl FnOnce() -> usize) -> bool {
        self.0 += call;
        if self.0 > Self::MOST {
            self.0 = all();
        }
        self.0 > Self::MOST
    }
}

/// Returns the bytes of a call with these texts.
pub(super) fn bytes_of(texts: &[&Option<String>]) -> usize {
    const REST: usize = 512;
    REST + texts.iter().filter_map(|text| text.as_ref()).map(String::len).sum::<usize>()
}
