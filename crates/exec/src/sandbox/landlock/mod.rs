//! Landlock: the host makes rules of what is granted, and the child confines itself by them.

pub(crate) mod rules;
mod sandbox;

pub(super) use sandbox::Landlock;
