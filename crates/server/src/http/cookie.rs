//! Cookies of people that sign in.

use axum::http::{HeaderMap, HeaderValue, header};

/// The prefix by which browsers hold a cookie to https, to this host and to all of its paths.
const HOST_PREFIX: &str = "__Host-";

/// The cookie with the token of a person that signed in.
pub(super) const TOKEN: Cookie = Cookie { name: "rep_token", attributes: "" };

/// The cookie with the way of a person to the provider and back. It ends after ten minutes.
pub(super) const FLOW: Cookie = Cookie { name: "rep_sign_in", attributes: "; Max-Age=600" };

/// A cookie of this server. Scripts do not see it, and forms of other sites do not send it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cookie {
    name: &'static str,
    /// Attributes beside those that every cookie has.
    attributes: &'static str,
}

/// The scheme that the browser uses, as far as the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// Returns the scheme as it is written in a URL.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl Cookie {
    /// Returns the value of the cookie, if the request has it.
    pub(super) fn read(self, headers: &HeaderMap, scheme: Scheme) -> Option<&str> {
        let name = self.full_name(scheme);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// Returns the header that sets the cookie; `None` if it cannot have this value.
    pub(super) fn set(self, value: &str, scheme: Scheme) -> Option<HeaderValue> {
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
        let text = format!("{}={value}{}{}", self.full_name(scheme), attributes(scheme), self.attributes);
        value.bytes().all(is_allowed).then(|| HeaderValue::try_from(text).ok()).flatten()
    }

    /// Returns the header that removes the cookie.
    pub(super) fn remove(self, scheme: Scheme) -> Option<HeaderValue> {
        let text = format!("{}={}; Max-Age=0", self.full_name(scheme), attributes(scheme));
        HeaderValue::try_from(text).ok()
    }

    fn full_name(self, scheme: Scheme) -> String {
        let prefix = if scheme == Scheme::Https { HOST_PREFIX } else { "" };
        format!("{prefix}{}", self.name)
    }
}

/// Returns the attributes of every cookie. Lax, because a link of another site and the way back from a provider lead to a page of
/// the person that follows it.
fn attributes(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => "; Path=/; HttpOnly; SameSite=Lax",
        Scheme::Https => "; Path=/; HttpOnly; SameSite=Lax; Secure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_bound_to_the_host_and_to_https_where_it_is_used() {
        let set = |scheme| TOKEN.set("rep_1", scheme).unwrap().to_str().unwrap().to_owned();
        assert_eq!(set(Scheme::Http), "rep_token=rep_1; Path=/; HttpOnly; SameSite=Lax");
        assert_eq!(set(Scheme::Https), "__Host-rep_token=rep_1; Path=/; HttpOnly; SameSite=Lax; Secure");
        for bad in ["a;b", "a b", "a\nb", "a,b", "ü"] {
            assert_eq!(TOKEN.set(bad, Scheme::Http), None, "{bad}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let read = |line: &str, scheme| {
            let headers = HeaderMap::from_iter([(header::COOKIE, line.parse().unwrap())]);
            TOKEN.read(&headers, scheme).map(str::to_owned)
        };
        assert_eq!(read("a=b; rep_token=x=; c=d", Scheme::Http).as_deref(), Some("x="));
        assert_eq!(read("__Host-rep_token=x", Scheme::Https).as_deref(), Some("x"));
        assert_eq!(
            read("rep_token=x", Scheme::Https),
            None,
            "a cookie without the prefix may be of another host"
        );
        for none in ["", "rep_token", "rep_token=", "xrep_token=x"] {
            assert_eq!(read(none, Scheme::Http), None, "{none}");
        }
    }
}
