//! Hits as people read them: the session, then where it is, then the text around the match.

use super::hits::Hit;
use super::matcher::Matcher;
use super::{Answer, Place};
use crate::Result;
use crate::cli::args::Search;
use crate::cli::output::{Look, Reader};
use crate::cli::settings::Settings;
use crate::shown::width::{PROSE, cut, width};
use crate::shown::{joined, value, visible};

/// Most columns of a line.
const WIDEST: usize = 120;
/// Share of a line that may stand before the match.
const BEFORE: usize = 3;

/// Writes the answer.
pub(super) fn write(
    settings: &Settings,
    typed: &Search,
    matcher: &Matcher,
    answer: &Answer,
    limit: usize,
    mut reader: Reader,
) -> Result<()> {
    let screen = Screen { look: reader.look(&settings.output), settings, matcher, typed };
    reader.write(&screen.heading(answer))?;
    for place in answer.places.iter().take(limit) {
        reader.write(&screen.place(answer, place))?;
    }
    reader.write(&screen.rest(answer, limit))?;
    reader.finish()
}

struct Screen<'s> {
    look: Look,
    settings: &'s Settings,
    matcher: &'s Matcher,
    typed: &'s Search,
}

impl Screen<'_> {
    fn columns(&self) -> usize {
        self.look.width.map_or(PROSE, |columns| columns.min(WIDEST))
    }

    /// Returns untrusted text on one line, escaped on a terminal.
    fn safe(&self, text: &str) -> String {
        let text = joined(text);
        if self.look.width.is_some() { visible(&text).into_owned() } else { text }
    }

    fn asked(&self) -> String {
        self.safe(&self.typed.expression.clone().unwrap_or_else(|| self.typed.words.join(" ")))
    }

    fn heading(&self, answer: &Answer) -> String {
        let sessions = |number| value::plural(number, "session");
        if answer.places.is_empty() {
            let meant = answer.meant.iter().map(|word| self.safe(word)).collect::<Vec<_>>().join(" ");
            let question = if meant.is_empty() { meant } else { format!(" Did you mean {meant}?") };
            return format!("No hits for {} in {}.{question}\n", self.asked(), sessions(answer.searched));
        }
        let subagents = answer.places.iter().filter(|place| place.about.is_subagent).count() as u64;
        let own = answer.places.len() as u64 - subagents;
        let mut found = Vec::new();
        found.extend((own > 0).then(|| sessions(own)));
        found.extend((subagents > 0).then(|| value::plural(subagents, "subagent")));
        format!("{}: {} in {}\n", self.asked(), value::plural(answer.hits(), "hit"), found.join(" and "))
    }

    fn place(&self, answer: &Answer, place: &Place) -> String {
        let (paint, about) = (self.look.paint, &place.about);
        let title = about.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or("(no title)");
        let title = cut(&self.safe(title), self.columns().min(PROSE), self.look.signs);
        let day = about.started_at.and_then(|start| value::day_of(start, self.settings.clock.zone));
        let cost = about.usd.map_or_else(|| self.look.signs.unknown.to_owned(), value::usd);
        let count = value::plural(place.hits.count, "hit");
        let facts =
            [day.map(|day| day.to_string()), about.project.clone(), Some(place.key.1.clone()), Some(cost), Some(count)];
        let facts = facts.into_iter().flatten().map(|fact| self.safe(&fact)).collect::<Vec<_>>().join("  ");
        let best = place.hits.best.first().map_or(0, |hit| hit.seq);
        let command = format!("llrem show {} --at {best}", self.safe(&answer.ids.short(&place.key.2)));
        let room = self.columns().min(PROSE);
        let gap = " ".repeat(room.saturating_sub(2 + width(&facts) + width(&command)).max(2));
        let mut text = format!("\n{}\n  {}{gap}{}\n", paint.bold(&title), paint.dim(&facts), paint.bold(&command));
        let has_several = self.typed.hits > 1;
        for hit in &place.hits.best {
            text.push_str(&self.hit(hit, has_several));
        }
        text
    }

    fn hit(&self, hit: &Hit, is_numbered: bool) -> String {
        let label = if is_numbered { format!("{:>5}  {}: ", hit.seq, hit.kind) } else { format!("  {}: ", hit.kind) };
        let text = self.around(hit, self.columns().saturating_sub(width(&label)));
        format!("{}{}\n", self.look.paint.dim(&label), self.marked(&text))
    }

    /// Returns a part of the text in which the match is seen.
    fn around(&self, hit: &Hit, columns: usize) -> String {
        let (before, after) = hit.text.split_at_checked(hit.start).unwrap_or(("", &hit.text));
        let (before, after) = (self.safe_part(before), self.safe_part(after));
        let room = (columns / BEFORE).max(columns.saturating_sub(width(&after) + 1));
        let mut start = before.len();
        let mut taken = 0;
        for (at, letter) in before.char_indices().rev() {
            taken += width(letter.encode_utf8(&mut [0; 4]));
            if taken > room {
                break;
            }
            start = at;
        }
        let mut kept = before.get(start..).unwrap_or_default();
        if start > 0 {
            // A whole word begins the line, if there is one.
            kept = kept.split_once(' ').map_or(kept, |(_, rest)| rest);
        }
        let ellipsis = if kept.len() < before.len() || hit.start > 300 { self.look.signs.ellipsis } else { "" };
        cut(&format!("{ellipsis}{kept}{after}"), columns, self.look.signs)
    }

    fn safe_part(&self, text: &str) -> String {
        if self.look.width.is_some() { visible(text).into_owned() } else { text.to_owned() }
    }

    /// Paints the words that were searched for.
    fn marked(&self, text: &str) -> String {
        let (mut marked, mut end) = (String::new(), 0);
        for (from, until) in self.matcher.marks(text) {
            marked.push_str(text.get(end..from).unwrap_or_default());
            marked.push_str(&self.look.paint.code("1;33", text.get(from..until).unwrap_or_default()));
            end = until;
        }
        marked.push_str(text.get(end..).unwrap_or_default());
        marked
    }

    /// Returns what is not shown, and what else can be asked.
    fn rest(&self, answer: &Answer, limit: usize) -> String {
        let paint = self.look.paint;
        let mut text = String::new();
        let hidden = answer.places.get(limit..).unwrap_or_default();
        if !hidden.is_empty() {
            let hits = hidden.iter().map(|place| place.hits.count).sum();
            let (sessions, hits) = (value::plural(hidden.len() as u64, "more session"), value::plural(hits, "hit"));
            let note = format!("{sessions}, {hits}. All of them: --limit off");
            text = format!("\n{}\n", paint.dim(&note));
        }
        let words @ [_, _, ..] = self.typed.words.as_slice() else { return text };
        if self.look.width.is_none() || answer.places.is_empty() {
            return text;
        }
        let phrase = format!("llrem search \"{}\"   the phrase", self.safe(&words.join(" ")));
        let hint = format!("{phrase}   -e REGEX   --since --project --agent");
        let hint = cut(&hint, self.columns(), self.look.signs);
        text + &format!("\n{}\n", paint.dim(&hint))
    }
}
