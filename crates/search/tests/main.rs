//! Sessions of libraries that can be searched.

#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub, reason = "a test that fails says where")]

mod search_skills;
mod skill_directory;
mod task;
