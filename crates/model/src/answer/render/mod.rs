//! The four ways to write an answer down.

mod choice;
pub mod guard;
pub(super) mod sentence;
mod found;
mod xml;
mod json;
mod text;
mod markdown;

pub use choice::Render;
