//! Tests of agents' and roles' prompts.

mod binding;
mod role;
