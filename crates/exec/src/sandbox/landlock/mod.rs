//! The sandbox with Landlock: the host turns grants into rules, and a thread of the launcher confines itself with them.

pub(crate) mod rules;
mod sandbox;

pub(super) use sandbox::Landlock;
