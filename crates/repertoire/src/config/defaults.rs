//! Defaults of settings that other crates read.

/// The default of `mcp.instructions_budget`, in tokens.
pub const INSTRUCTIONS_TOKENS: usize = 2_000;

/// The default of `http.max_connections`.
pub const HTTP_CONNECTIONS: usize = 1_024;
