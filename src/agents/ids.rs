//! Ids that agents and providers give: which are unique by themselves, and what makes the others so.

use std::borrow::Cow;

use xxhash_rust::xxh3::Xxh3;

use crate::extract::KeyMap;

/// Letters and digits at the end of an id that a program drew at random, at least.
const RANDOM: usize = 16;

/// Returns true if no other session has the id: it ends in a UUID, or in so many letters and digits as most providers
/// give their calls (`toolu_…`, `call_…`). Others number the calls of each session, or even of each response, anew:
/// `call_0`, `functions.Bash:0`.
pub(super) fn is_global(id: &str) -> bool {
    let tail = id.len().checked_sub(36).and_then(|from| id.get(from..));
    tail.is_some_and(is_uuid) || ends_at_random(id)
}

/// Returns true if a text has the form of a UUID with hyphens.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

/// Returns true if an id ends in so many letters and digits that a program drew them at random.
pub(super) fn ends_at_random(id: &str) -> bool {
    let run = || id.bytes().rev().take_while(u8::is_ascii_alphanumeric);
    run().count() >= RANDOM && run().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// An id that nothing else has: as it is, or qualified by what it is unique within.
pub(super) fn qualified<'i>(within: &str, id: &'i str) -> Cow<'i, str> {
    if is_global(id) { Cow::Borrowed(id) } else { Cow::Owned(format!("{within}#{id}")) }
}

/// The number of times that each id was given, for ids that are not unique by themselves.
#[derive(Default)]
pub(super) struct Given(KeyMap<u32>);

impl Given {
    /// The id as it is, and numbered from the second time on that the key is given.
    pub(super) fn numbered(&mut self, key: u64, id: String) -> String {
        let given = self.0.entry(key).or_default();
        *given += 1;
        if *given == 1 { id } else { format!("{id}.{given}") }
    }

    /// Returns true if the key was given before.
    pub(super) fn has(&self, key: u64) -> bool {
        self.0.contains_key(&key)
    }
}

/// Names records of a session to which their agent gives no id. Places name none: agents cut and rewrite their files,
/// and what comes next moves to the place of what was there. Equal records are numbered in the order of their source.
#[derive(Default)]
pub(super) struct Prints(Given);

impl Prints {
    /// The name of a record that stays as it was written: by its role, its moment and what it says.
    pub(super) fn name<'t>(
        &mut self,
        role: &str,
        moment: Option<i64>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> String {
        let mut print = opening(role, moment);
        for text in texts {
            print.update(text.as_bytes());
            print.update(&[0xff]);
        }
        self.numbered(print.digest())
    }

    /// The name of a record that its agent may write again with more text: by its role and its moment. Further ones of
    /// that role and moment, and those without a moment, are named by what they say too.
    pub(super) fn name_growing<'t>(
        &mut self,
        role: &str,
        moment: Option<i64>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> String {
        let print = opening(role, moment).digest();
        if moment.is_some() && !self.0.has(print) { self.numbered(print) } else { self.name(role, moment, texts) }
    }

    fn numbered(&mut self, print: u64) -> String {
        self.0.numbered(print, format!("{print:016x}"))
    }
}

/// The hash of what every record has.
fn opening(role: &str, moment: Option<i64>) -> Xxh3 {
    let mut print = Xxh3::new();
    print.update(role.as_bytes());
    print.update(&[0xff]);
    if let Some(moment) = moment {
        print.update(&moment.to_le_bytes());
    }
    print
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn uuids_are_hexadecimal_digits_in_five_groups(
            id in "[0-9a-fA-F]{7,8}(-[0-9a-fA-F]{3}[0-9a-f/:@G`g]){3}[-_][0-9a-fA-F]{10}[0-9a-fgé]{1,2}"
        ) {
            let groups: Vec<&str> = id.split('-').collect();
            let has_form = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]);
            let is_hex = groups.concat().bytes().all(|byte| byte.is_ascii_hexdigit());
            prop_assert_eq!(is_uuid(&id), has_form && is_hex);
        }
    }

    #[test]
    fn random_ids_stand_for_themselves() {
        for id in [
            "0f7c1a52-9f3f-4a61-8a4e-000000000001",
            "exec-0f7c1a52-9f3f-4a61-8a4e-000000000001",
            "toolu_01A09q90qw90lq917835lq9",
            "call_62136354d2f2f2f2f2f2f2f2",
            "call_nrtgWvgOkYNpldVgraFwkfCX",
            "chatcmpl-tool-0123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(qualified("s", id), id);
        }
    }

    #[test]
    fn counted_ids_are_of_their_session() {
        for id in ["1", "call_0", "functions.exec_command:0", "mcp__server__somethingratherlong", "é", ""] {
            assert_eq!(qualified("s", id), format!("s#{id}"));
        }
    }

    #[test]
    fn prints_do_not_depend_on_places() {
        let records = [("user", Some(1), "a"), ("assistant", None, "b"), ("user", None, "a"), ("user", Some(1), "b")];
        let name = |prints: &mut Prints, (role, moment, text)| prints.name(role, moment, [text]);
        let mut prints = Prints::default();
        let all = records.map(|record| name(&mut prints, record));
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), records.len());
        for (record, of_all) in records.into_iter().zip(&all) {
            assert_eq!(&name(&mut Prints::default(), record), of_all);
            assert_eq!(name(&mut prints, record), format!("{of_all}.2"));
        }
    }

    #[test]
    fn a_growing_record_keeps_its_name_while_it_has_a_moment() {
        let name = |moment, text| Prints::default().name_growing("assistant", moment, [text]);
        assert_eq!(name(Some(1), "I wr"), name(Some(1), "I write it"));
        assert_ne!(name(Some(1), "I write it"), name(Some(2), "I write it"));
        assert_ne!(name(None, "I wr"), name(None, "I write it"));
        let mut prints = Prints::default();
        let all = ["a", "b", "b"].map(|text| prints.name_growing("user", Some(1), [text]));
        assert_eq!(all[2], format!("{}.2", all[1]));
        assert_ne!(all[0], all[1]);
    }
}
