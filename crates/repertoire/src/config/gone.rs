//! Keys of earlier versions, whose values are fixed now.

/// The keys that are gone, each with its value.
pub(super) const GONE: [(&str, &str); 14] = [
    ("read.max_bytes", "65536"),
    ("load.soft_limit_tokens", "8000"),
    ("tools.enum_limit", "100"),
    ("scan.max_directories", "100000"),
    ("scan.max_entries", "1000000"),
    ("reload.debounce_ms", "30"),
    ("reload.max_watches", "32768"),
    ("events.max", "2000000"),
    ("versions.record", "true"),
    ("proposals.per_skill", "5"),
    ("proposals.per_session", "10"),
    ("mcp.instructions_budget", "2000"),
    ("http.max_connections", "1024"),
    ("oidc.session_hours", "12"),
];

/// Returns the names of the keys that are gone.
pub fn gone_keys() -> impl Iterator<Item = &'static str> {
    GONE.iter().map(|(name, _)| *name)
}

/// Returns the hint about the key `name` if it is gone.
pub(super) fn hint_about_gone(name: &str) -> Option<String> {
    let (_, value) = GONE.iter().find(|(gone, _)| *gone == name)?;
    Some(format!("its value is fixed at {value}; take it away"))
}
