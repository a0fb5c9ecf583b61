//! Python's own text functions, as far as they show in the reference's answers.
//!
//! Python strings may hold half of a surrogate pair, which `"\ud83d"` in double quotes makes. Rust's cannot, so
//! such a half is carried as a character from the last 2,048 of the last private plane and put back on the way
//! out.

mod case;
mod decode;
mod json;
mod path;
mod repr;
mod surrogate;
mod tables;

pub(super) use case::{is_alnum, strip};
pub(super) use decode::{decode_utf8, universal_newlines};
pub(super) use json::to_json;
pub use path::path_text;
pub use repr::repr;
pub(super) use repr::{repr_char, str_value};
pub(super) use surrogate::chr;
pub use surrogate::{encode_strictly, shown};
