//! Tests of connections, against the servers of this crate and of the standard library alone.
