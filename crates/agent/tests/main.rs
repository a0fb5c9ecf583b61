//! Tests of the agent against a scripted server.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks at files itself")]

mod support;
mod exchange;
mod faults;
mod conversation;
mod prefix;
mod real_model;
