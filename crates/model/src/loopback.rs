//! Addresses of this machine.

use core::net::IpAddr;

/// Returns whether `authority`, the host of a URL with or without a port, leads to this machine.
///
/// ```
/// use repertoire_model::loopback::is_loopback;
/// assert!(is_loopback("localhost:8080") && is_loopback("[::1]:80") && is_loopback("127.0.0.2"));
/// assert!(!is_loopback("localhost.example.com") && !is_loopback("10.0.0.1"));
/// ```
pub fn is_loopback(authority: &str) -> bool {
    let is_address = |host: &str| host.parse::<IpAddr>().is_ok_and(|it| it.to_canonical().is_loopback());
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    let host = host.unwrap_or_default();
    host.eq_ignore_ascii_case("localhost") || is_address(host) || is_address(authority)
}
