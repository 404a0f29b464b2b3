//! Colours of what llrem writes to a terminal.

/// Colours texts, or leaves them as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    /// Totals, headings, commands.
    pub fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    /// Headers, notes, ids, zeros.
    pub fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    /// Like [`Self::dim`], line by line.
    pub fn dim_lines(self, text: &str) -> String {
        text.lines().map(|line| self.dim(line) + "\n").collect()
    }

    /// Paints errors.
    pub fn red(self, text: &str) -> String {
        self.code("31", text)
    }

    /// Paints good results.
    pub fn green(self, text: &str) -> String {
        self.code("32", text)
    }

    /// Paints warnings.
    pub fn yellow(self, text: &str) -> String {
        self.code("33", text)
    }

    /// Surrounds a text with an escape sequence and its end.
    pub fn code(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
