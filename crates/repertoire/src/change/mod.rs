//! Changes of files, all or nothing.

mod leftovers;
mod replace_file;

pub use leftovers::{remove_leftovers, remove_oldest, target_of_temporary};
pub use replace_file::{FileKind, MAX_FILE_BYTES, read_file, replace_file};
