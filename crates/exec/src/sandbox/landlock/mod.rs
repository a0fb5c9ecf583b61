//! The sandbox with Landlock: the host turns grants into rules, and a launcher thread confines itself.

pub(crate) mod rules;
mod sandbox;

pub(super) use sandbox::Landlock;
