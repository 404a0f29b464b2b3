//! discover → plan → extract → resolve → commit: the only place with threads.
