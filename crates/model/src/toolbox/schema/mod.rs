//! JSON Schema, as much of it as tools use: arguments are held against it before anything runs.
//!
//! Checked: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `minProperties`, `maxProperties`, `items`,
//! `prefixItems`, `minItems`, `maxItems`, `uniqueItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `multipleOf`, `anyOf`, `oneOf`, `allOf`, `not` and `$ref` within the schema. What is not checked is said
//! ([`review`]), so that no author relies on it. The work is bounded whatever a schema says.

mod review;
mod check;
mod place;
mod pattern;

pub use check::{Violation, check};
pub use review::{Review, review};
