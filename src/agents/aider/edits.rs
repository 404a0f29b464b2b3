//! The edits in a reply, which Aider applies to files afterwards.

use std::collections::HashMap;

use crate::extract::{EditedLines, blocks};

/// Lines that the blocks of a reply add and remove, by file.
#[derive(Default)]
pub(super) struct Edits(HashMap<String, EditedLines>);

/// Number of lines before a block that may name its file.
const MOST_ABOVE: usize = 3;

impl Edits {
    pub(super) fn of(reply: &str) -> Self {
        let mut edits = HashMap::<String, EditedLines>::new();
        let mut file = None;
        for block in blocks(reply) {
            file = file_above(block.before).or(file);
            let Some(file) = file else { continue };
            let lines = EditedLines::between(block.old, block.new).unwrap_or_default();
            edits.entry(file.to_owned()).and_modify(|sum| *sum = sum.and(lines)).or_insert(lines);
        }
        Self(edits)
    }

    /// Removes the edits of a file. The model may name it without its folder.
    pub(super) fn take(&mut self, path: &str) -> Option<EditedLines> {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.0.remove(path).or_else(|| self.0.remove(name))
    }
}

/// Returns the file that the lines above a block name. A fence may come between.
fn file_above(text: &str) -> Option<&str> {
    let lines = text.lines().rev().take(MOST_ABOVE).filter(|line| !line.trim_start().starts_with("```"));
    lines
        .map(|line| line.trim_matches([' ', '#', '*', '`', ':']))
        .find(|line| line.contains(['.', '/']) && !line.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_above_their_blocks() {
        let block =
            |old: &str, new: &str| format!("```python\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n");
        let reply = format!(
            "Two changes. First:\n\nsrc/a.py\n{}\nAnd then:\n\n{}\n**b.py**:\n{}",
            block("x\n", "y\nz\n"),
            block("", "w\n"),
            block("v\n", ""),
        );
        let mut edits = Edits::of(&reply);
        assert_eq!(edits.take("src/a.py"), Some(EditedLines::new(3, 1)));
        assert_eq!(edits.take("src/a.py"), None);
        assert_eq!(edits.take("src/b.py"), Some(EditedLines::new(0, 1)));
        assert_eq!(Edits::of("<<<<<<< SEARCH\nx\n=======\n").take("a"), None);
    }
}
