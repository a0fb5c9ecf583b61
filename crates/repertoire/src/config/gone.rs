//! Keys of earlier versions.

/// The keys that are gone, each with its value.
const GONE: [(&str, &str); 14] = [
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

/// The keys that are an entry of a table now, each with its present name.
const MOVED: [(&str, &str); 8] = [
    ("exec.trust_project", "exec.trust.project"),
    ("exec.trust_user", "exec.trust.user"),
    ("exec.trust_configured", "exec.trust.configured"),
    ("http.requests_per_minute", "http.limits.requests_per_minute"),
    ("http.kilobytes_per_minute", "http.limits.kilobytes_per_minute"),
    ("http.max_runs", "http.limits.max_runs"),
    ("oidc.name_claim", "oidc.claims.name"),
    ("oidc.groups_claim", "oidc.claims.groups"),
];

/// Returns the names of the keys whose variables are gone: those of `exec.trust` have theirs still.
pub fn gone_keys() -> impl Iterator<Item = &'static str> {
    GONE.iter().chain(&MOVED).map(|(name, _)| *name).filter(|name| !name.starts_with("exec."))
}

pub(super) fn hint_about_gone(name: &str) -> Option<String> {
    let of = |table: &'static [(&str, &'static str)]| table.iter().find(|(gone, _)| *gone == name);
    let fixed = of(&GONE).map(|(_, value)| format!("its value is fixed at {value}; take it away"));
    fixed.or_else(|| of(&MOVED).map(|(_, now)| format!("write `{now}`")))
}
