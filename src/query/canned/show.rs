//! Presentation of a canned query: its group in the list, its columns in a table, and its total.

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownColumn {
    /// Name in the result.
    pub name: String,
    /// Name in the table, if it is not made from that one.
    pub label: Option<String>,
    /// True if it is a part of the column before it, in the form `(name)`.
    pub is_part: bool,
}

impl ShownColumn {
    /// Returns the name in a table: without the unit, with spaces.
    pub fn label(&self) -> String {
        let bare = ["_usd", "_tokens", "_ms", "_bytes", "_hours", "_minutes", "_seconds", "_percent", "_id"];
        let name = bare.iter().find_map(|unit| self.name.strip_suffix(unit)).unwrap_or(&self.name);
        self.label.clone().unwrap_or_else(|| match name {
            "total" => "tokens".to_owned(),
            name => name.replace('_', " "),
        })
    }
}

/// The last row of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Total {
    /// The query whose only row it is.
    pub query: Option<String>,
    /// Columns that have another name there: the own name and the other.
    pub renamed: Vec<(String, String)>,
    /// Columns whose rows add up to it.
    pub sums: Vec<String>,
}

/// Place of a query in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The group.
    pub name: String,
    /// Question that the query answers, in a few words.
    pub text: String,
}

impl Group {
    /// Returns the query with which it shares a line, if it has none of its own.
    pub fn head(&self) -> Option<&str> {
        self.text.strip_prefix("also ")
    }
}

/// `GROUP -- TEXT`
pub(super) fn group(value: &str) -> Result<Group, String> {
    let (name, text) = value.split_once(" -- ").ok_or("expected `group: GROUP -- TEXT`")?;
    Ok(Group { name: name.trim().to_owned(), text: text.trim().to_owned() })
}

/// `NAME [as LABEL], (NAME [as LABEL]), …`
pub(super) fn columns(value: &str) -> Result<Vec<ShownColumn>, String> {
    let items = value.split(',').map(str::trim).filter(|item| !item.is_empty());
    items
        .map(|item| {
            let part = item.strip_prefix('(').and_then(|item| item.strip_suffix(')'));
            let (name, label) = match part.unwrap_or(item).split_once(" as ") {
                Some((name, label)) => (name.trim(), Some(label.trim().to_owned())),
                None => (part.unwrap_or(item), None),
            };
            if name.contains(' ') {
                return Err(format!("expected `NAME [as LABEL], …` instead of `{item}`"));
            }
            Ok(ShownColumn { name: name.to_owned(), label, is_part: part.is_some() })
        })
        .collect()
}

/// `QUERY [, NAME = OTHER]…` or `sum of NAME, …`
pub(super) fn total(total: &mut Total, value: &str) {
    let names = |text: &str| text.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    if let Some(sums) = value.strip_prefix("sum of ") {
        total.sums.extend(names(sums));
        return;
    }
    for item in names(value) {
        match item.split_once('=') {
            Some((name, other)) => total.renamed.push((name.trim().to_owned(), other.trim().to_owned())),
            None => total.query = Some(item),
        }
    }
}
