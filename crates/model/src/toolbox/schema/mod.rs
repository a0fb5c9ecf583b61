//! JSON Schema, the part of it that tools use: arguments are validated before anything runs.
//!
//! Checked: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `minProperties`,
//! `maxProperties`, `items`, `prefixItems`, `minItems`, `maxItems`, `uniqueItems`, `minLength`, `maxLength`,
//! `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`, `anyOf`, `oneOf`, `allOf`,
//! `not` and `$ref` within the schema. Other keywords are reported ([`review`]), so that no author relies on
//! them. The work is bounded for every schema.

mod review;
mod violation;
mod keywords;
mod check;
mod pattern;

pub use check::check;
pub use review::{Review, review};
pub use violation::Violation;
