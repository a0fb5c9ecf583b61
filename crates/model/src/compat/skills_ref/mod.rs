//! What the Python reference library `skills-ref` 0.1.1 answers about a skill, byte for byte.
//!
//! The reference is small but stands on two larger things whose habits show in every answer: Python's own text
//! functions, kept in [`python`], and `strictyaml` with the YAML scanner it carries, kept in `yaml`. Where the
//! reference surprises (frontmatter that ends at the first `---` anywhere, block lists taken for `allowed-tools`,
//! an empty `compatibility` that is valid), so does this module; `rep check` without `--compat` does not.
//!
//! Some inputs make the Python program stop with a traceback. Those come back as [`Crash`], which carries the
//! traceback's last line.

mod error;
mod frontmatter;
mod prompt;
mod properties;
pub mod python;
mod validate;
mod value;
mod yaml;

#[cfg(test)]
mod tests;

pub use error::{Crash, Error};
pub use frontmatter::decode;
pub use prompt::{Entry, to_prompt};
pub use properties::{Properties, read_properties};
pub use validate::validate;
pub use value::Value;
