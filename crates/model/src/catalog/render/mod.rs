//! The formats, one file each, and the page they are written on.

mod bracket;
mod compat;
mod json;
mod layout;
mod list;
mod markdown;
mod menu;
mod page;
mod table;
mod xml;

pub(super) use page::Page;
