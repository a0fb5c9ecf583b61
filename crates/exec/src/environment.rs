//! The environment variables of a command.

/// The host's variables that every command gets: the search path of programs, the language and the time zone.
pub const ALLOWED: &[&str] = &["PATH", "LANG", "LANGUAGE", "TZ"];

/// The prefix of further variables that every command gets.
pub const ALLOWED_PREFIX: &str = "LC_";

/// Returns the variables of the host that a command gets: the harmless ones, and those in `names`.
///
/// ```
/// use repertoire_exec::environment::allowed;
///
/// let host = [("LANG", "C"), ("AWS_SECRET_ACCESS_KEY", "s3cret"), ("API_KEY", "k")];
/// let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let given = allowed(host, &["API_KEY".to_owned()]);
/// assert_eq!(given, [("LANG".to_owned(), "C".to_owned()), ("API_KEY".to_owned(), "k".to_owned())]);
/// ```
pub fn allowed(
    variables: impl IntoIterator<Item = (String, String)>,
    names: &[String],
) -> Vec<(String, String)> {
    let is_allowed = |name: &str| {
        ALLOWED.contains(&name) || name.starts_with(ALLOWED_PREFIX) || names.iter().any(|own| own == name)
    };
    variables.into_iter().filter(|(name, _)| is_allowed(name)).collect()
}
