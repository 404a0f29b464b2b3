//! Bounds on what is held until a later record ends it: calls without their results, and replies that more records may
//! continue. Real sources stay far below. In a damaged one, no call may get its result and no reply may end.

/// Bytes of texts and calls after which a reply ends, and further records begin another message.
pub(super) const MOST_IN_REPLY: usize = 16 << 20;

/// The problem of a source with too many open calls.
pub(super) const TOO_MANY: &str = "too many calls wait for their results; they are stored without results";

/// Bytes of the calls that wait.
#[derive(Default)]
pub(super) struct OpenBytes(usize);

impl OpenBytes {
    const MOST: usize = 32 << 20;
    /// So many calls may wait, however large they are.
    const FEW: usize = 64;

    /// Adds a call. Returns true if too many wait. `open` has the bytes of all of them.
    pub(super) fn exceed(&mut self, call: usize, open: impl ExactSizeIterator<Item = usize>) -> bool {
        self.0 += call;
        let is_many = open.len() > Self::FEW;
        if self.0 > Self::MOST {
            self.0 = open.sum();
        }
        is_many && self.0 > Self::MOST
    }
}

/// Returns the bytes of a call with these texts.
pub(super) fn bytes_of(texts: &[&Option<String>]) -> usize {
    const REST: usize = 512;
    REST + texts.iter().filter_map(|text| text.as_ref()).map(String::len).sum::<usize>()
}
