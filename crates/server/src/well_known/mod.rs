//! The well-known index.
