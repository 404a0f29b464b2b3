//! Short texts that are equal in consecutive rows. They are redacted when they change.

use std::rc::Rc;

use crate::redact::{Counts, Redactor};

/// The last text, and its redacted form.
#[derive(Default)]
pub(super) struct Repeated {
    seen: String,
    clean: Option<Rc<str>>,
}

impl Repeated {
    /// Returns the redacted text.
    pub(super) fn clean(&mut self, text: Option<&str>, redactor: &Redactor, counts: &mut Counts) -> Option<Rc<str>> {
        let text = text?;
        if self.clean.is_none() || self.seen != text {
            self.clean = Some(Rc::from(&*redactor.redact(text, counts)));
            text.clone_into(&mut self.seen);
        }
        self.clean.clone()
    }
}
