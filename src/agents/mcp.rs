//! Tools of MCP servers, which most agents name alike.

use crate::tables::Category;

/// The server of an `mcp__server__tool` name.
pub(super) fn server(name: &str) -> Option<&str> {
    name.strip_prefix("mcp__")?.split_once("__").map(|(server, _)| server)
}

/// Category of a server's tool, by the name of either. Those that drive a browser are a category of their own: looking
/// at a page is not like asking a service.
pub(super) fn category(name: &str) -> Category {
    if drives_browser(name) { Category::Browser } else { Category::Mcp }
}

/// Returns true if a name is that of a server or tool that works a browser.
pub(super) fn drives_browser(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["playwright", "puppeteer", "chrome", "browser"].iter().any(|word| name.contains(word))
}
