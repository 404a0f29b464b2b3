//! Pools of invented text that compresses like what people, models and tools write: prose with Zipf-distributed words,
//! source code that reuses its names, logs and listings. All of it is stored as it stands inside JSON strings.

use std::fmt::Write;
use std::ops::Range;

use super::json::escaped;
use super::rng::Rng;

/// Escaped text with the places where it may be cut: after lines, in prose also after sentences.
#[derive(Default)]
pub struct Pool {
    text: Vec<u8>,
    cuts: Vec<usize>,
}

/// Consecutive pieces of a [`Pool`].
pub type Span = Range<usize>;

impl Pool {
    pub fn bytes(&self, span: &Span) -> &[u8] {
        &self.text[self.cuts[span.start]..self.cuts[span.end]]
    }

    /// The text of `span` without blank space around it.
    pub fn trimmed(&self, span: &Span) -> &[u8] {
        let mut text = self.bytes(span);
        while let Some(rest) = text.strip_prefix(b"\\n").or_else(|| text.strip_prefix(b" ")) {
            text = rest;
        }
        while let Some(rest) = text.strip_suffix(b"\\n").or_else(|| text.strip_suffix(b" ")) {
            text = rest;
        }
        text
    }

    /// One line without its end.
    pub fn line(&self, index: usize) -> &[u8] {
        let line = self.bytes(&(index..index + 1));
        line.strip_suffix(b"\\n").unwrap_or(line)
    }

    /// `count` pieces from any place.
    pub fn pieces(&self, rng: &mut Rng, count: usize) -> Span {
        let start = rng.below(self.end().saturating_sub(count).max(1));
        start..(start + count).min(self.end())
    }

    /// About `bytes` of text from any place, at least one piece.
    pub fn passage(&self, rng: &mut Rng, bytes: usize) -> Span {
        let last = self.cuts.partition_point(|&cut| cut + bytes < self.text.len());
        let start = rng.below(last.clamp(1, self.end()));
        let end = self.cuts.partition_point(|&cut| cut < self.cuts[start] + bytes);
        start..end.clamp(start + 1, self.end())
    }

    /// The number of pieces.
    pub fn end(&self) -> usize {
        self.cuts.len() - 1
    }

    fn push(&mut self, text: &str) {
        if self.cuts.is_empty() {
            self.cuts.push(0);
        }
        self.text.extend_from_slice(escaped(text).as_bytes());
        self.cuts.push(self.text.len());
    }
}

/// The file name extensions of the invented source code.
pub const EXTENSIONS: [&str; 3] = ["rs", "ts", "py"];

pub struct Pools {
    pub prose: Pool,
    pub code: Pool,
    pub logs: Pool,
    /// Invented names in the manner of identifiers.
    pub names: Vec<String>,
    /// The start of each file in `code`, and the position of its language in [`EXTENSIONS`].
    pub modules: Vec<(usize, usize)>,
}

impl Pools {
    /// Pools of about `bytes` each.
    pub fn new(seed: u64, bytes: usize) -> Self {
        let mut rng = Rng::derive(seed, 1);
        let words = Vocabulary::new(&mut rng);
        let names = (0..1500).map(|_| words.name(&mut rng)).collect::<Vec<_>>();
        let mut pools =
            Self { prose: Pool::default(), code: Pool::default(), logs: Pool::default(), names, modules: Vec::new() };
        while pools.prose.text.len() < bytes {
            prose_block(&mut pools.prose, &words, &pools.names, &mut rng);
        }
        while pools.code.text.len() < bytes {
            let language = rng.weighted(&[4, 3, 3]);
            pools.modules.push((pools.code.cuts.len().saturating_sub(1), language));
            Module::new(language, &words, &pools.names, &mut rng).write(&mut pools.code, &mut rng);
        }
        while pools.logs.text.len() < bytes {
            log_block(&mut pools.logs, &words, &pools.names, &mut rng);
        }
        pools
    }
}

const COMMON: &str = "the to a of in is and it for that this with on not be as I file test we are error from by \
    function now let so which code when you if has can add but line all use no an value type check there should need \
    case first path call same then only one data have was at two fix new or run set returns read change before after \
    where each field name write list does more still key already because handle tests time failing makes means other \
    them than also look back into user build state empty instead module result string parse missing update remove \
    default server client config index cache query request response token handler import module format option source \
    between without through never always exactly probably actually currently existing relevant";

struct Vocabulary {
    words: Vec<String>,
    by_frequency: Vec<u16>,
}

impl Vocabulary {
    const SAMPLES: usize = 1 << 15;

    fn new(rng: &mut Rng) -> Self {
        let mut words = COMMON.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        while words.len() < 4000 {
            let syllables = 1 + rng.weighted(&[30, 45, 20, 5]);
            words.push(
                (0..syllables).map(|_| syllable(rng)).collect::<String>() + rng.pick(&["", "", "", "s", "ed", "ing"]),
            );
        }
        let weights = (0..words.len()).map(|rank| 1e6 / (rank as f64 + 2.7)).collect::<Vec<_>>();
        let scale = Self::SAMPLES as f64 / weights.iter().sum::<f64>();
        let mut by_frequency = Vec::with_capacity(Self::SAMPLES);
        let mut reached = 0.0;
        for (rank, weight) in weights.iter().enumerate() {
            reached += weight * scale;
            by_frequency.resize((reached as usize).min(Self::SAMPLES), rank as u16);
        }
        by_frequency.resize(Self::SAMPLES, 0);
        Self { words, by_frequency }
    }

    fn word(&self, rng: &mut Rng) -> &str {
        &self.words[self.rank(rng.next() as usize)]
    }

    /// A word that often follows the one of rank `before`: language repeats pairs, not only words.
    fn following(&self, before: usize, rng: &mut Rng) -> usize {
        let pair = (before * 12 + rng.below(12)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let choice = if rng.chance(0.55) { pair >> 40 } else { rng.next() as usize };
        self.rank(choice)
    }

    fn rank(&self, choice: usize) -> usize {
        usize::from(self.by_frequency[choice % Self::SAMPLES])
    }

    fn name(&self, rng: &mut Rng) -> String {
        let parts = 1 + rng.weighted(&[3, 5, 2]);
        (0..parts).map(|_| self.word(rng).to_lowercase()).collect::<Vec<_>>().join("_")
    }

    fn sentence(&self, names: &[String], rng: &mut Rng, out: &mut String) {
        let mut rank = self.rank(rng.next() as usize);
        let start = out.len();
        for place in 0..rng.within(5, 20) {
            if place > 0 {
                out.push_str(if rng.chance(0.06) { ", " } else { " " });
            }
            match rng.below(40) {
                0 | 1 => _ = write!(out, "`{}`", rng.name(names)),
                2 => _ = write!(out, "{}", rng.within(2, 400)),
                3 if rng.chance(0.3) => out.push_str(rng.pick(&["→", "—", "naïve", "“quoted”", "✓", "🚀"])),
                _ => out.push_str(&self.words[rank]),
            }
            rank = self.following(rank, rng);
        }
        if let Some(first) = out.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
        out.push_str(rng.pick(&[".", ".", ".", ".", ":", "?", "!"]));
    }
}

impl Rng {
    fn name<'a>(&mut self, names: &'a [String]) -> &'a str {
        let frequent = 1 + self.below(names.len());
        &names[self.below(frequent)]
    }
}

fn syllable(rng: &mut Rng) -> String {
    let onset = rng.pick(&[
        "", "b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "ch", "pl", "con", "re",
    ]);
    let nucleus = rng.pick(&["a", "e", "e", "i", "o", "u", "ai", "ea", "io"]);
    let coda = rng.pick(&["", "", "n", "r", "s", "t", "l", "nd", "ct", "st", "ck", "m"]);
    [onset, nucleus, coda].concat()
}

fn prose_block(pool: &mut Pool, words: &Vocabulary, names: &[String], rng: &mut Rng) {
    let mut text = String::new();
    match rng.below(10) {
        0 => {
            text.push_str("## ");
            words.sentence(names, rng, &mut text);
            pool.push(&(text + "\n\n"));
        }
        1..=3 => {
            for _ in 0..rng.within(2, 7) {
                text.clear();
                text.push_str(rng.pick(&["- ", "- ", "1. ", "- [ ] "]));
                _ = write!(text, "**{}**: ", rng.name(names));
                words.sentence(names, rng, &mut text);
                text.push('\n');
                pool.push(&text);
            }
            pool.push("\n");
        }
        _ => {
            for _ in 0..rng.within(2, 6) {
                text.clear();
                words.sentence(names, rng, &mut text);
                text.push(' ');
                pool.push(&text);
            }
            pool.push("\n\n");
        }
    }
}

/// One invented source file: a stock of names that its functions use again and again.
struct Module<'a> {
    language: usize,
    stock: Vec<&'a str>,
    locals: Vec<&'a str>,
    words: &'a Vocabulary,
    names: &'a [String],
}

impl<'a> Module<'a> {
    fn new(language: usize, words: &'a Vocabulary, names: &'a [String], rng: &mut Rng) -> Self {
        let stock = (0..rng.within(15, 40)).map(|_| rng.name(names)).collect();
        Self { language, stock, locals: Vec::new(), words, names }
    }

    fn write(&mut self, pool: &mut Pool, rng: &mut Rng) {
        for _ in 0..rng.within(3, 12) {
            let import = match self.language {
                0 => format!("use crate::{}::{};\n", self.known(rng), self.known(rng)),
                1 => format!("import {{ {} }} from './{}'\n", self.known(rng), self.known(rng)),
                _ => format!("from {} import {}\n", self.known(rng), self.known(rng)),
            };
            pool.push(&import);
        }
        for _ in 0..rng.within(4, 30) {
            self.function(pool, rng);
        }
    }

    fn function(&mut self, pool: &mut Pool, rng: &mut Rng) {
        self.locals = (0..rng.within(3, 7))
            .map(|_| if rng.chance(0.5) { self.known(rng) } else { rng.name(self.names) })
            .collect();
        let mut comment = String::new();
        self.words.sentence(self.names, rng, &mut comment);
        let (name, argument, kind) = (self.known(rng), self.local(rng), self.known(rng));
        pool.push("\n");
        let (head, foot) = match self.language {
            0 => (format!("/// {comment}\npub fn {name}({argument}: &{kind}) -> Result<{kind}> {{\n"), "}\n"),
            1 => (format!("// {comment}\nexport async function {name}({argument}: {kind}) {{\n"), "}\n"),
            _ => (format!("def {name}({argument}: {kind}) -> {kind}:\n    \"\"\"{comment}\"\"\"\n"), ""),
        };
        head.split_inclusive('\n').for_each(|line| pool.push(line));
        let mut depth = 1;
        for _ in 0..rng.within(3, 28) {
            self.statement(pool, &mut depth, rng);
        }
        while depth > 1 {
            depth -= 1;
            if self.language < 2 {
                pool.push(&format!("{}}}\n", "    ".repeat(depth)));
            }
        }
        pool.push(foot);
    }

    fn statement(&self, pool: &mut Pool, depth: &mut usize, rng: &mut Rng) {
        let (one, two, three) = (self.local(rng), self.local(rng), self.known(rng));
        let indent = if self.language == 1 { "\t".repeat(*depth) } else { "    ".repeat(*depth) };
        let brackets = self.language < 2;
        let mut line = indent.clone();
        match rng.below(14) {
            0 | 1 if *depth < 5 => {
                let open = rng.pick(&["if", "for", "while", "match"]);
                _ = writeln!(line, "{open} {one}.{three}({two}){}", if brackets { " {" } else { ":" });
                *depth += 1;
            }
            2 | 3 if *depth > 1 => {
                *depth -= 1;
                if brackets {
                    _ = writeln!(line, "}}");
                }
            }
            4 => {
                line.push_str(if brackets { "// " } else { "# " });
                self.words.sentence(self.names, rng, &mut line);
                line.push('\n');
            }
            5 => _ = writeln!(line, "return {three}({one}, {two});"),
            6 => _ = writeln!(line, "assert_eq!({one}.{three}(), \"{two}\", \"{one} {three}\");"),
            7 => _ = writeln!(line, "{one}.push({two}.get({}).{three}());", rng.below(100)),
            8 => _ = writeln!(line, "{one}[\"{three}\"] = {two} + {};", rng.below(64)),
            9 => _ = writeln!(line, "log.info(\"{} {{}}\\n\", {one}.{three});", self.words.word(rng)),
            10 => "\n".clone_into(&mut line),
            _ => _ = writeln!(line, "{}{one} = {two}.{three}({one});", rng.pick(&["let ", "", "const "])),
        }
        pool.push(&line);
    }

    fn known(&self, rng: &mut Rng) -> &'a str {
        self.stock[rng.below(self.stock.len())]
    }

    fn local(&self, rng: &mut Rng) -> &'a str {
        self.locals[rng.below(self.locals.len())]
    }
}

/// The output of some command: all lines of a block have one shape.
fn log_block(pool: &mut Pool, words: &Vocabulary, names: &[String], rng: &mut Rng) {
    let (kind, package, extension) = (rng.below(7), rng.name(names), rng.pick(&EXTENSIONS));
    let mut clock = rng.below(86_400_000);
    let mut sentence = String::new();
    for line in 0..rng.within(5, 60) {
        clock += rng.below(2000);
        let (name, other) = (rng.name(names), rng.name(names));
        let (hours, minutes, seconds, millis) =
            (clock / 3_600_000 % 24, clock / 60_000 % 60, clock / 1000 % 60, clock % 1000);
        let text = match kind {
            0 => format!("test {package}::{name}::{other} ... {}\n", if rng.chance(0.96) { "ok" } else { "FAILED" }),
            1 => format!(
                "-rw-r--r--  1 dev  staff  {:>7} Jun {:>2} {hours:02}:{minutes:02} {name}.{extension}\n",
                rng.below(90_000),
                rng.within(1, 30)
            ),
            2 => {
                sentence.clear();
                words.sentence(names, rng, &mut sentence);
                let level = rng.pick(&["INFO", "INFO", "DEBUG", "WARN"]);
                format!(
                    "2026-03-14T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z {level} {package}: {name} {sentence}\n"
                )
            }
            3 => format!("src/{package}/{name}.{extension}:{}:    let {other} = {name}.{other}();\n", rng.below(900)),
            4 => {
                sentence.clear();
                words.sentence(names, rng, &mut sentence);
                format!(
                    "{:07x} {}({package}): {sentence}\n",
                    rng.next() & 0xFFF_FFFF,
                    rng.pick(&["fix", "feat", "chore", "refactor"])
                )
            }
            5 => format!("{}{name}.{other}({package});\n", [" ", "+", "-"][rng.weighted(&[6, 3, 2])]),
            _ => format!("    at {other} (/srv/{package}/dist/{name}.js:{}:{})\n", rng.below(900), line % 40),
        };
        pool.push(&text);
    }
}
