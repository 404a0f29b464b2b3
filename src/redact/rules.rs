//! The rules: the forms of secrets.
//!
//! A rule has one or more literals, which decide where it is tried. So literals are few, have at least three bytes, if
//! possible four, and are rare in prose and source. Each rule has texts that it must and must not match.
//!
//! The forms of many keys are facts collected by gitleaks (<https://github.com/gitleaks/gitleaks>), whose notice is:
//!
//! > MIT License
//! >
//! > Copyright (c) 2019 Zachary Rice
//! >
//! > Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
//! > documentation files (the "Software"), to deal in the Software without restriction, including without limitation
//! > the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and
//! > to permit persons to whom the Software is furnished to do so, subject to the following conditions:
//! >
//! > The above copyright notice and this permission notice shall be included in all copies or substantial portions of
//! > the Software.
//! >
//! > THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO
//! > THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
//! > AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT,
//! > TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
//! > SOFTWARE.

mod ai;
mod cloud;
mod code;
mod context;
mod generic;
mod services;

use super::rule::Rule;

/// Returns all rules, the most specific ones first.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [ai::RULES, cloud::RULES, code::RULES, services::RULES, context::RULES, generic::RULES].into_iter().flatten()
}

/// Prefixes of several literals that are rare themselves, so that the searchers have fewer literals.
pub(super) const SHARED_BEGINNINGS: &[&str] = &[
    "xox", "sk-", "sk_", "rk_", "dp.", ":AA", "shp", "dt0", "sq0", "fm1", "snt", "dck", "CCI", "_AP", "_au", "AKI",
    "lin_", "glp", "glr", "gls", "glc", "glf",
];

/// Pattern between a name and its value in environments, JSON, YAML and source: `NAME=`, `"name": "`, `\"name\" => \"`,
/// `name, "`.
macro_rules! assigned {
    ($name:literal, $value:literal) => {
        concat!($name, r#"\\?["'`]?[ \t]{0,8}(?:=>|:=|=|:|,|\\u003[dD]|%3[dD])[ \t]{0,8}\\?["'`]?"#, "(", $value, ")")
    };
}
use assigned;

/// Pattern for a secret that no letter or digit follows: it would be part of something longer.
macro_rules! ended {
    ($secret:literal) => {
        concat!("(", $secret, r")(?:[^A-Za-z0-9]|\z)")
    };
}
use ended;

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn is_token(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}
