//! Contents as providers write them: a text, or a list of blocks.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::source::records::{ObjectInto, check_items, lenient};

/// A block that can stand for a bare text.
pub(super) trait TextBlock<'a>: Deserialize<'a> + Default {
    /// The block that holds only that text.
    fn of_text(text: Cow<'a, str>) -> Self;
}

/// Reads the blocks of a content: a text is one block, what is neither text nor list has none. None when there is no
/// content.
pub(super) fn blocks<'de, D: Deserializer<'de>, B: TextBlock<'de>>(
    deserializer: D,
) -> Result<Option<Vec<B>>, D::Error> {
    struct ContentVisitor<B>(PhantomData<B>);
    impl<'de, B: TextBlock<'de>> Visitor<'de> for ContentVisitor<B> {
        type Value = Option<Vec<B>>;
        lenient!(@expecting "a text or a list of blocks");
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Some(vec![B::of_text(Cow::Borrowed(text))]))
        }
        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(vec![B::of_text(Cow::Owned(text.to_owned()))]))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut blocks = Vec::new();
            while items.next_element_seed(ObjectInto(&mut blocks))?.is_some() {
                check_items(blocks.len())?;
            }
            Ok(Some(blocks))
        }
        lenient!(@otherwise Some(Vec::new()); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64));
        lenient!(@null None);
        lenient!(@map Some(Vec::new()));
    }
    deserializer.deserialize_any(ContentVisitor(PhantomData))
}

/// Joins texts with a line end between them; borrowed when there is one.
pub(super) fn join<'a>(texts: impl IntoIterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let mut joined: Option<Cow<'a, str>> = None;
    for text in texts {
        match &mut joined {
            None => joined = Some(text),
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(&text);
            }
        }
    }
    joined
}
