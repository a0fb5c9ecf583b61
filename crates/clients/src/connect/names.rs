//! Names and addresses of the server in the configuration of clients.

/// The name that the server has in the configuration of clients.
pub const DEFAULT_NAME: &str = "repertoire";
/// The name of a built-in extension of Goose, which replaces an entry of that name.
pub(super) const NAME_OF_GOOSE: &str = "skills";

/// The path of MCP on servers.
const MCP_PATH: &str = "/mcp";

/// The most characters of a server's name.
const MAX_NAME_CHARS: usize = 64;

/// Returns a name that every client accepts and that needs no quotes.
pub fn server_name(word: &str) -> Result<String, String> {
    let is_sound = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && word.len() <= MAX_NAME_CHARS;
    if is_sound {
        return Ok(word.to_owned());
    }
    Err(format!("a name is at most {MAX_NAME_CHARS} letters, digits, - and _, the first a letter or digit"))
}

/// Returns the address of a server, with the path of MCP.
pub fn http_url(word: &str) -> Result<String, String> {
    let rest = word.strip_prefix("http://").or_else(|| word.strip_prefix("https://"));
    let is_sound = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && word.chars().all(|c| c.is_ascii_graphic());
    let Some(rest) = rest.filter(|_| is_sound) else {
        return Err("an address starts with http:// or https://".to_owned());
    };
    match rest.split_once('/') {
        Some((_, path)) if format!("/{path}").ends_with(MCP_PATH) => Ok(word.to_owned()),
        None | Some((_, "")) => Ok(format!("{}{MCP_PATH}", word.trim_end_matches('/'))),
        Some(_) => Err(format!("the path of an address ends with {MCP_PATH}, as that of the server does")),
    }
}

/// Returns the name of an environment variable.
pub fn variable_name(word: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && word.chars().all(is_name) {
        return Ok(word.to_owned());
    }
    Err("name the variable, such as REPERTOIRE_TOKEN, not the token".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        for (word, expect) in [
            ("http://127.0.0.1:7437/mcp", Some("http://127.0.0.1:7437/mcp")),
            ("http://127.0.0.1:7437", Some("http://127.0.0.1:7437/mcp")),
            ("https://skills.example.com/", Some("https://skills.example.com/mcp")),
            ("https://example.com/skills/mcp", Some("https://example.com/skills/mcp")),
            ("https://example.com/xmcp", None),
            ("http://127.0.0.1:7437/sse", None),
            ("http://", None),
            ("http:///mcp", None),
            ("127.0.0.1:7437", None),
        ] {
            assert_eq!(http_url(word).ok().as_deref(), expect, "{word}");
        }
    }
}
