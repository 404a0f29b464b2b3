//! Keys of a `state.vscdb`: of its table `cursorDiskKV`, and of `ItemTable`.

/// Beginning of the key of a composer's record, before its id.
pub(super) const COMPOSER: &str = "composerData:";
/// Beginning of the key of a bubble, before its composer's id and its own.
pub(super) const BUBBLE: &str = "bubbleId:";

pub(super) const CHATS: [&str; 2] =
    ["workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata"];
pub(super) const COMPOSERS: &str = "composer.composerData";
pub(super) const PROMPTS: &str = "aiService.prompts";
pub(super) const GENERATIONS: &str = "aiService.generations";
/// Beginning of the keys of composers' views, before a name of their own.
pub(super) const PANES: &str = "workbench.panel.composerChatViewPane.";
const PANES_END: &str = "workbench.panel.composerChatViewPane/";

/// Keys of `ItemTable` to read, each as one unit.
pub(super) const ITEMS: [&str; 5] = [CHATS[0], CHATS[1], COMPOSERS, PANES, PROMPTS];

/// Returns a key, with the first and the last key of its range.
pub(super) fn range_of(key: &'static str) -> (&'static str, &'static str, &'static str) {
    if key == PANES { (key, key, PANES_END) } else { (key, key, key) }
}
