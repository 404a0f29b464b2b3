//! Short texts that are the same row after row: they are redacted when they change.

use std::rc::Rc;

use crate::redact::{Counts, Redactor};

/// The last of them, and the same without secrets.
#[derive(Default)]
pub(super) struct Repeated {
    seen: String,
    clean: Option<Rc<str>>,
}

impl Repeated {
    /// The text without secrets.
    pub(super) fn clean(&mut self, text: Option<&str>, redactor: &Redactor, counts: &mut Counts) -> Option<Rc<str>> {
        let text = text?;
        if self.clean.is_none() || self.seen != text {
            self.clean = Some(Rc::from(&*redactor.redact(text, counts)));
            text.clone_into(&mut self.seen);
        }
        self.clean.clone()
    }
}
