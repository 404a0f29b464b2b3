//! Helpers that tests share: homes made of fixtures, lakes made of homes, and rows read back from lakes.
#![allow(dead_code, unreachable_pub, unused_imports, clippy::panic, reason = "each test program uses a part of it")]

pub mod home;
pub mod lake;
pub mod python;
pub mod rows;
pub mod terminal;

pub use home::{Case, Home};
pub use lake::Built;
pub use rows::Rows;
pub use terminal::Terminal;
