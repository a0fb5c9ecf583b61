//! `str(pathlib.Path(text))`.

/// Returns the path as `pathlib` writes it: single slashes, no `.` parts, no slash at the end, `.` for nothing.
///
/// Exactly two slashes at the start are kept, as POSIX leaves their meaning open.
pub fn path_text(text: &str) -> String {
    let slashes = text.len() - text.trim_start_matches('/').len();
    let root = match slashes {
        0 => "",
        2 => "//",
        _ => "/",
    };
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if root.is_empty() && parts.is_empty() { ".".to_owned() } else { format!("{root}{}", parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::path_text;

    #[test]
    fn paths_are_written_as_pathlib_writes_them() {
        for (path, expected) in [
            ("", "."),
            (".", "."),
            ("./", "."),
            ("a/", "a"),
            ("./a/./b//c/", "a/b/c"),
            ("a/../b", "a/../b"),
            ("/", "/"),
            ("//", "//"),
            ("//a", "//a"),
            ("///a/", "/a"),
        ] {
            assert_eq!(path_text(path), expected, "{path:?}");
        }
    }
}
