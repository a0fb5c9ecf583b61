//! The four ways to write an answer down.

mod render;

pub use render::Render;
