//! Parses the address that a server listens on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::error::CliError;

/// The default address.
pub(super) const DEFAULT: &str = "127.0.0.1:7437";

/// Returns the address that `text` names: an address with a port, `localhost` with one, or a port alone.
pub(super) fn parse(text: &str) -> Result<SocketAddr, CliError> {
    let local =
        |port: &str| port.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let address = text.parse().ok();
    let address = address.or_else(|| local(text.strip_prefix("localhost:").unwrap_or(text)));
    address.ok_or_else(|| {
        CliError::usage(format!("`{text}` is not an address to listen on"))
            .hint("write 127.0.0.1:7437, [::1]:7437, localhost:7437, or a port alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them() {
        for (text, expect) in [
            (DEFAULT, "127.0.0.1:7437"),
            ("8080", "127.0.0.1:8080"),
            ("localhost:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), expect);
        }
        for bad in ["", "localhost", "example.com:80", "127.0.0.1", "70000", ":80"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert_eq!(DEFAULT, repertoire_web::http::DEFAULT_ADDRESS.to_string());
    }
}
