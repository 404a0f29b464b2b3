//! Hits as people read them: the session, then where it is, then the text around the match.

use super::hits::Hit;
use super::matcher::Matcher;
use super::{Answer, Place};
use crate::Result;
use crate::cli::args::Search;
use crate::cli::output::{Look, Reader};
use crate::cli::settings::Settings;
use crate::shown::width::{PROSE, cut, width, wrap};
use crate::shown::{Signs, joined, value, visible};

/// Most columns of a line.
const WIDEST: usize = 120;
/// Share of a line that may stand before the match.
const BEFORE: usize = 3;
/// Fewest columns of the name of a project that is cut.
const NAME: usize = 4;

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
        let asked = self.asked();
        let text = if !answer.places.is_empty() {
            format!("{asked}: {} in {}", value::plural(answer.hits(), "hit"), counted(&answer.places, ""))
        } else if answer.searched == 0 {
            let none = if answer.scope.is_empty() { String::new() } else { format!(": no sessions{}", answer.scope) };
            format!("No hits for {asked}{none}. {}", answer.known)
        } else {
            let meant = answer.meant.iter().map(|word| self.safe(word)).collect::<Vec<_>>().join(" ");
            let question = if meant.is_empty() { meant } else { format!(" Did you mean {meant}?") };
            let sessions = value::plural(answer.searched, "session");
            format!("No hits for {asked} in {sessions}{}.{question}", answer.scope)
        };
        self.wrapped(&text) + "\n"
    }

    /// Wraps a sentence on a terminal.
    fn wrapped(&self, text: &str) -> String {
        if self.look.width.is_some() { wrap(text, self.columns().min(PROSE), 0) } else { text.to_owned() }
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
        let facts = facts.map(|fact| self.safe(&fact.unwrap_or_default()));
        let best = place.hits.best.first().map_or(0, |hit| hit.seq);
        let command = format!("llrem show {} --at {best}", self.safe(&answer.ids.short(&place.key.2)));
        let room = self.columns().min(PROSE);
        let facts = match self.look.width {
            Some(_) => fitting(facts, room.saturating_sub(4 + width(&command)), self.look.signs),
            None => spaced(&facts),
        };
        let gap = " ".repeat(room.saturating_sub(2 + width(&facts) + width(&command)).max(2));
        let mut text = format!("\n{}\n  {}{gap}{}\n", paint.bold(&title), paint.dim(&facts), paint.bold(&command));
        let has_several = self.typed.hits.get() > 1;
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
            let (more, hits) = (counted(hidden, "more "), value::plural(hits, "hit"));
            let note = self.wrapped(&format!("{more}, {hits}. All of them: --limit off"));
            text = format!("\n{}", paint.dim_lines(&note));
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

/// Returns how many sessions and subagents these are: `2 sessions and 1 subagent`.
fn counted(places: &[Place], more: &str) -> String {
    let subagents = places.iter().filter(|place| place.about.is_subagent).count();
    let all = [(places.len() - subagents, "session"), (subagents, "subagent")];
    let all = all.into_iter().filter(|(number, _)| *number > 0);
    all.map(|(number, noun)| value::plural(number as u64, &format!("{more}{noun}"))).collect::<Vec<_>>().join(" and ")
}

fn spaced(facts: &[String]) -> String {
    facts.iter().filter(|fact| !fact.is_empty()).map(String::as_str).collect::<Vec<_>>().join("  ")
}

/// Joins day, project, agent, cost and number of hits. Cuts the project, and leaves out what does not fit even so.
fn fitting(mut facts: [String; 5], room: usize, signs: Signs) -> String {
    let excess = width(&spaced(&facts)).saturating_sub(room);
    facts[1] = cut(&facts[1], width(&facts[1]).saturating_sub(excess).max(NAME), signs);
    for least in 1..facts.len() {
        if width(&spaced(&facts)) > room {
            facts[least].clear();
        }
    }
    spaced(&facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_cut_and_left_out_until_the_command_fits() {
        let facts = ["2026-04-19", "test-fixture", "claude-code", "–", "1 hit"].map(str::to_owned);
        let shown = [60, 44, 36, 31, 20, 10].map(|room| fitting(facts.clone(), room, Signs::UNICODE));
        insta::assert_snapshot!(shown.join("\n"), @r"
        2026-04-19  test-fixture  claude-code  –  1 hit
        2026-04-19  test-fix…  claude-code  –  1 hit
        2026-04-19  claude-code  –  1 hit
        2026-04-19  –  1 hit
        2026-04-19  –  1 hit
        2026-04-19
        ");
    }
}
