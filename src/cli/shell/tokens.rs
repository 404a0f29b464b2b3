//! Tokens of SQL from the engine's own tokenizer, with their positions in the text.

use std::ops::Range;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, TokenizerError};

/// The tokens of a text in order, including spaces and comments.
pub(super) struct Tokens {
    /// Each with its range of bytes in the text.
    pub(super) tokens: Vec<(Token, Range<usize>)>,
    /// The end of the text.
    pub(super) end: End,
}

/// End of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// After a token.
    Whole,
    /// Within a string, name or comment that begins like this: `'`, `"`, `` ` ``, `$` or `*`.
    Within(char),
    /// At something that is no SQL.
    Wrong,
}

impl Tokens {
    pub(super) fn of(text: &str) -> Self {
        let mut found = Vec::new();
        let outcome = Tokenizer::new(&GenericDialect, text).tokenize_with_location_into_buf(&mut found);
        let mut places = Places::of(text);
        let mut tokens = Vec::with_capacity(found.len());
        let mut from = 0;
        for token in found {
            let to = places.offset(token.span.end.line, token.span.end.column);
            tokens.push((token.token, from..to));
            from = to;
        }
        let end = outcome.map_or_else(|error| ending(&error, text.get(from..).unwrap_or_default()), |()| End::Whole);
        Self { tokens, end }
    }
}

fn ending(error: &TokenizerError, rest: &str) -> End {
    if !error.message.contains("nterminated") && !error.message.contains("EOF") {
        return End::Wrong;
    }
    let begun = rest.chars().find(|letter| matches!(letter, '\'' | '"' | '`' | '$' | '*'));
    begun.map_or(End::Wrong, End::Within)
}

/// Converts lines and columns, both from 1, to byte offsets; called in the order of the text.
struct Places<'a> {
    letters: std::str::CharIndices<'a>,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Self {
        Self { letters: text.char_indices(), line: 1, column: 1 }
    }

    fn offset(&mut self, line: u64, column: u64) -> usize {
        while (self.line, self.column) < (line, column) {
            match self.letters.next() {
                Some((_, '\n')) => (self.line, self.column) = (self.line + 1, 1),
                Some(_) => self.column += 1,
                None => break,
            }
        }
        self.letters.offset()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_open_end_is_known_by_what_opens_it() {
        let ends = |text: &str| Tokens::of(text).end;
        for (text, open) in [
            ("select 'a;", '\''),
            ("select E'a;", '\''),
            ("select 'it''s", '\''),
            ("select \"a;", '"'),
            ("select `a;", '`'),
            ("select $$a;", '$'),
            ("select $tag$ a; $$", '$'),
            ("select /* a;", '*'),
            ("select /* /* */ a;", '*'),
        ] {
            assert_eq!(ends(text), End::Within(open), "{text}");
        }
        assert_eq!(ends("select 'a', \"b\", $$c$$, $t$ d $t$ /* e */ -- f"), End::Whole);
        assert_eq!(ends("select (1)._a"), End::Wrong);
    }

    proptest! {
        #[test]
        fn tokens_lie_one_after_the_other(text in r#"[ a1é日;'"$*/\\.`_-]{0,30}(\n|\r\n)?[ a1é日;'"$*/\\.`_-]{0,30}"#) {
            let found = Tokens::of(&text);
            let mut end = 0;
            for (token, place) in &found.tokens {
                prop_assert_eq!(place.start, end);
                prop_assert!(text.get(place.clone()).is_some_and(|piece| !piece.is_empty()));
                prop_assert_eq!(*token == Token::SemiColon, text.get(place.clone()) == Some(";"));
                end = place.end;
            }
            prop_assert!(found.end != End::Whole || end == text.len());
        }
    }
}
