//! Splits a command line of a shell into the programs that it runs, without running anything.
//!
//! Texts in quotes, heredocs and comments run nothing. Programs in subshells, substitutions and `sh -c` do.

/// Longest command line that is read; the rest runs nothing. Bytes.
const LONGEST: usize = 256 << 10;
/// Deepest nesting of quotes and brackets. What is nested deeper runs nothing.
const DEEPEST: usize = 32;
/// Most scripts of `sh -c` that are read.
const SCRIPTS: usize = 16;

/// Words before a program in command position.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"];
/// Programs that run the program in their arguments.
const WRAPPERS: [&str; 11] =
    ["sudo", "env", "command", "builtin", "exec", "nohup", "nice", "timeout", "stdbuf", "eval", "rtk"];
const SHELLS: [&str; 4] = ["sh", "bash", "zsh", "dash"];

/// A program in command position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program<'c> {
    /// Its name, without folder and quotes.
    pub(super) name: &'c str,
    /// Its arguments as written: quotes are kept.
    pub(super) arguments: Vec<&'c str>,
    /// True if it is part of a list with `||`: the exit code does not say whether it ran and succeeded.
    pub(super) is_optional: bool,
    /// Operator between it and the next program.
    pub(super) joint: Joint,
}

/// Operator between two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
    Pipe,
    /// A semicolon, a new line or a single `&`.
    Then,
    /// The second one does not exist.
    End,
}

/// Returns the programs that a command line runs, in order.
pub(super) fn programs(command: &str) -> Vec<Program<'_>> {
    let command = command.get(..command.floor_char_boundary(LONGEST)).unwrap_or_default();
    let (mut found, mut scripts, mut read) = (Vec::new(), vec![command], 0);
    while let Some(script) = scripts.pop().filter(|_| read < SCRIPTS) {
        read += 1;
        let mut scan = Scan::new(script);
        scan.run();
        scripts.extend(scan.programs.iter().filter_map(Program::script));
        found.append(&mut scan.programs);
    }
    found
}

/// Returns a word without the quotes around it.
pub(super) fn unquoted(word: &str) -> &str {
    let within = |quote| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    within('"').or(within('\'')).unwrap_or(word)
}

impl<'c> Program<'c> {
    /// Returns the program that a command's words run. Leaves out keywords, assignments and wrappers.
    fn of(words: &[&'c str]) -> Option<Self> {
        let (mut words, mut wrapper) = (words.iter(), None);
        loop {
            let word = unquoted(words.next()?);
            // `command -v git` only looks for it.
            if wrapper == Some("command") && matches!(word, "-v" | "-V") {
                return None;
            }
            let has_number = wrapper.is_some_and(|name| name != "time");
            if wrapper.is_some() && word.starts_with('-')
                || has_number && word.starts_with(|letter: char| letter.is_ascii_digit())
            {
                if matches!(word, "-u" | "-g" | "-k" | "-s") {
                    words.next();
                }
                continue;
            }
            if KEYWORDS.contains(&word) || is_assignment(word) {
                wrapper = Some(word).filter(|word| *word == "time").or(wrapper);
                continue;
            }
            let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
            let name = name.strip_suffix(".exe").unwrap_or(name);
            if WRAPPERS.contains(&name) {
                wrapper = Some(name);
                continue;
            }
            let arguments = words.copied().collect();
            return Some(Self { name, arguments, is_optional: false, joint: Joint::End });
        }
    }

    /// Returns the script of `sh -c`.
    fn script(&self) -> Option<&'c str> {
        let is_option = |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        let mut arguments = self.arguments.iter().skip_while(|word| !is_option(word));
        arguments.nth(1).filter(|_| SHELLS.contains(&self.name)).map(|script| unquoted(script))
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let is_letter = |letter: u8| letter == b'_' || letter.is_ascii_alphanumeric();
    !name.is_empty() && name.bytes().all(is_letter) && !name.starts_with(|letter: char| letter.is_ascii_digit())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Start,
    Bracket,
    Backtick,
    Quote,
}

/// A command that is being read.
struct Frame<'c> {
    opening: Opening,
    words: Vec<&'c str>,
    /// Start of the word.
    word: Option<usize>,
    /// Index of the first program of the list, and true after a `||` in it.
    list: usize,
    is_optional: bool,
}

struct Scan<'c> {
    text: &'c str,
    at: usize,
    /// Commands that are being read, the innermost last.
    frames: Vec<Frame<'c>>,
    /// Ends of the heredocs that begin on the next line.
    heredocs: Vec<&'c str>,
    /// True if no `))` follows.
    no_arithmetic: bool,
    programs: Vec<Program<'c>>,
}

impl<'c> Scan<'c> {
    fn new(text: &'c str) -> Self {
        let mut scan = Self { text, at: 0, frames: vec![], heredocs: vec![], no_arithmetic: false, programs: vec![] };
        scan.open(Opening::Start);
        scan
    }

    fn run(&mut self) {
        while let (Some(byte), Some(frame)) = (self.byte(0), self.frames.last()) {
            if self.frames.len() > DEEPEST {
                return;
            }
            let (opening, is_in_word) = (frame.opening, frame.word.is_some());
            match (byte, opening) {
                (b'\\', _) => self.escape(),
                (b'"', Opening::Quote) => self.close(),
                (b'`', Opening::Backtick) => self.end_and_close(),
                (b'`', _) => self.open_after(Opening::Backtick),
                (b'$', _) if self.byte(1) == Some(b'(') => self.substitution(),
                (_, Opening::Quote) => self.at += 1,
                (b'"', _) => self.open_after(Opening::Quote),
                (b'\'', _) => self.single_quotes(),
                (b'(', _) if is_in_word => self.open_after(Opening::Bracket),
                (b'(', _) => {
                    self.at += 1;
                    self.open(Opening::Bracket);
                }
                (b')', Opening::Bracket) => self.end_and_close(),
                (b'#', _) if !is_in_word => self.at = self.line_end(),
                (b'<', _) if self.byte(1) == Some(b'<') => self.heredoc(),
                (b'&' | b'|', _) if self.is_redirection(byte) => self.letter(),
                (b'&' | b'|' | b';' | b')' | b'\n', _) => self.separator(byte),
                (b' ' | b'\t' | b'\r', _) => self.end_word(),
                (b'<' | b'>', _) if is_in_word && self.is_after_argument() => self.take_word(),
                _ => self.letter(),
            }
        }
        while !self.frames.is_empty() {
            self.end_command(Joint::End);
            self.frames.pop();
        }
    }

    fn byte(&self, after: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + after).copied()
    }

    fn line_end(&self) -> usize {
        self.at + memchr::memchr(b'\n', self.tail()).unwrap_or(self.tail().len())
    }

    fn open(&mut self, opening: Opening) {
        let list = self.programs.len();
        self.frames.push(Frame { opening, words: Vec::new(), word: None, list, is_optional: false });
    }

    /// Opens a frame after a byte that belongs to the word.
    fn open_after(&mut self, opening: Opening) {
        self.letter();
        self.open(opening);
    }

    fn close(&mut self) {
        self.frames.pop();
        self.at += 1;
    }

    fn end_and_close(&mut self) {
        self.end_command(Joint::Then);
        self.close();
    }

    /// Takes a byte of a word.
    fn letter(&mut self) {
        let at = self.at;
        if let Some(frame) = self.frames.last_mut() {
            frame.word.get_or_insert(at);
        }
        self.at += 1;
    }

    fn escape(&mut self) {
        let line_end = [&b"\\\n"[..], b"\\\r\n"].into_iter().find(|line_end| self.tail().starts_with(line_end));
        if let Some(line_end) = line_end {
            self.take_word();
            self.at += line_end.len();
        } else {
            self.letter();
            self.at += usize::from(self.at < self.text.len());
        }
    }

    fn single_quotes(&mut self) {
        self.letter();
        self.at += memchr::memchr(b'\'', self.tail()).map_or(self.tail().len(), |at| at + 1);
    }

    /// Bytes from here on. They may begin within a character.
    fn tail(&self) -> &'c [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn substitution(&mut self) {
        self.letter();
        if self.byte(1) == Some(b'(') && !self.no_arithmetic {
            match memchr::memmem::find(self.tail(), b"))") {
                Some(end) => return self.at += end + 2,
                None => self.no_arithmetic = true,
            }
        }
        self.open_after(Opening::Bracket);
    }

    fn heredoc(&mut self) {
        if self.byte(2) == Some(b'<') {
            self.letter();
            self.at += 2;
            return;
        }
        self.end_word();
        self.at += 1;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let named = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
        let quote = named.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
        let end = match quote {
            Some(quote) => named.get(1..).and_then(|named| named.split(quote).next()),
            None => named.split(|letter: char| letter.is_whitespace() || ";|&()<>".contains(letter)).next(),
        };
        let end = end.unwrap_or_default();
        self.at += rest.len() - named.len() + end.len() + if quote.is_some() { 2 } else { 0 };
        self.at = self.at.min(self.text.len());
        self.heredocs.extend(Some(end.trim_start_matches('\\')).filter(|end| !end.is_empty()));
    }

    /// Skips the heredocs that begin here.
    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            while self.at < self.text.len() {
                let line_end = self.line_end();
                let line = self.text.get(self.at..line_end).unwrap_or_default();
                let text = line.trim_start_matches('\t');
                let after = text.strip_prefix(end).map(str::trim_end);
                if after.is_some_and(|after| after.is_empty() || after.starts_with(')')) {
                    self.at += line.len() - text.len() + end.len();
                    break;
                }
                self.at = (line_end + 1).min(self.text.len());
            }
        }
    }

    /// True for the `&` of `2>&1` and `&>`, and the `|` of `>|`.
    fn is_redirection(&self, byte: u8) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
        before == Some(&b'>') || (byte == b'&' && (before == Some(&b'<') || self.byte(1) == Some(b'>')))
    }

    /// True between an argument and a redirection that follows without a space; not within `2>&1`, `&>` or `>>`.
    fn is_after_argument(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
        before.is_some_and(|byte| !byte.is_ascii_digit() && !matches!(byte, b'<' | b'>' | b'&'))
    }

    fn separator(&mut self, byte: u8) {
        let is_double = self.byte(1) == Some(byte);
        let joint = match (byte, is_double) {
            (b'|', true) => Joint::Or,
            (b'|', false) => Joint::Pipe,
            (b'&', true) => Joint::And,
            _ => Joint::Then,
        };
        self.end_command(joint);
        self.at += if is_double && byte != b'\n' { 2 } else { 1 };
        let programs = self.programs.len();
        if let Some(frame) = self.frames.last_mut() {
            match joint {
                Joint::Or => {
                    self.programs.iter_mut().skip(frame.list).for_each(|program| program.is_optional = true);
                    (frame.list, frame.is_optional) = (programs, true);
                }
                Joint::Pipe | Joint::And => {}
                Joint::Then | Joint::End => (frame.list, frame.is_optional) = (programs, false),
            }
        }
        if byte == b'\n' {
            self.skip_heredocs();
        }
    }

    /// Ends the word, and skips the byte after it.
    fn end_word(&mut self) {
        self.take_word();
        self.at += 1;
    }

    fn take_word(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let word = frame.word.take().and_then(|from| self.text.get(from..self.at));
        frame.words.extend(word);
    }

    fn end_command(&mut self, joint: Joint) {
        self.take_word();
        let Some(frame) = self.frames.last_mut() else { return };
        let words = std::mem::take(&mut frame.words);
        let is_optional = frame.is_optional;
        if frame.opening != Opening::Quote {
            self.programs.extend(Program::of(&words).map(|program| Program { is_optional, joint, ..program }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(command: &str) -> Vec<String> {
        let shown = |program: &Program<'_>| {
            let mark = if program.is_optional { "?" } else { "" };
            [&[program.name], &*program.arguments].concat().join(" ") + mark
        };
        programs(command).iter().map(shown).collect()
    }

    #[test]
    fn programs_stand_in_command_position() {
        for (command, expected) in [
            ("git commit -m 'a; git push'", &["git commit -m 'a; git push'"][..]),
            ("cd /x && FOO=1 sudo -u bob /usr/bin/git push 2>&1 | tail -1", &["cd /x", "git push 2>&1", "tail -1"]),
            ("if ! git push; then echo no; fi", &["git push", "echo no", "fi"]),
            (
                "(cd a; git push) && echo \"$(gh pr create -t 'x')\"",
                &["cd a", "git push", "gh pr create -t 'x'", "echo \"$(gh pr create -t 'x')\""],
            ),
            ("a && b || c; d", &["a?", "b?", "c?", "d"]),
            ("echo $((1<<2)) # git push\nls", &["echo $((1<<2))", "ls"]),
            ("bash -lc \"git push && ls\"", &["bash -lc \"git push && ls\"", "git push", "ls"]),
            ("timeout 60 nice -n 10 git push &> log", &["git push &> log"]),
            ("command -v git; command git push; time -p git pull", &["git push", "git pull"]),
            ("timeout -v 5 git push; time 7z x", &["git push", "7z x"]),
            ("git commit \\\n  -q", &["git commit -q"]),
            ("pytest>out 2>&1 && ls -l>>out <in", &["pytest >out 2>&1", "ls -l >>out <in"]),
            ("x=`git push`; y", &["git push", "y"]),
            ("grep -e \"`git tag a`\" 'b", &["git tag a", "grep -e \"`git tag a`\" 'b"]),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn heredocs_run_nothing() {
        let command = "cat > a.sh <<'EOF' && chmod +x a.sh\ngit commit -m x\nEOF\ngit push";
        assert_eq!(shown(command), ["cat > a.sh", "chmod +x a.sh", "git push"]);
        let command = "git commit -m \"$(cat <<'EOF'\nfix: \"a\" (b\n\ngit push\nEOF\n)\" && ls";
        assert_eq!(shown(command).last().unwrap(), "ls");
        assert!(shown(command).iter().all(|program| !program.starts_with("git push")));
        assert_eq!(shown("cat <<-E\n\tgit push\n\tE\nls"), ["cat", "ls"]);
        assert_eq!(shown("cat <<E\ngit push\n"), ["cat"]);
        assert_eq!(shown("cat <<< a; ls"), ["cat <<< a", "ls"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(command in r#"([ -~é\n]|\$\(|<<|`|"|')*"#) {
            programs(&command);
        }
    }

    #[test]
    fn deep_and_long_texts_are_read_in_linear_time() {
        for text in ["$(", "\"$(", "`", "<<a\n", "$((", "a||", "(", "bash -c \"", "'", "\\", "1>", "a>", ">"] {
            programs(&text.repeat(100_000));
        }
    }
}
