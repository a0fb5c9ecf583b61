//! Cookies of people that sign in, or open their own dashboard.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderValue, header};

/// The prefix by which browsers hold a cookie to https, to this host and to all of its paths.
const HOST_PREFIX: &str = "__Host-";

/// The cookie with the token of a person that signed in. Lax, because a link of another site and the way back
/// from a provider lead to a page of the person that follows it.
pub(super) const TOKEN: Cookie =
    Cookie { name: Cow::Borrowed("rep_token"), same_site: "Lax", attributes: "" };

/// The cookie with the way of a person to the provider and back. It ends after ten minutes.
pub(super) const FLOW: Cookie =
    Cookie { name: Cow::Borrowed("rep_sign_in"), same_site: "Lax", attributes: "; Max-Age=600" };

/// A cookie of this server. Scripts do not see it, and forms of other sites do not send it.
#[derive(Debug, Clone)]
pub(super) struct Cookie {
    name: Cow<'static, str>,
    same_site: &'static str,
    /// More attributes than every cookie has.
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
    /// Returns the cookie with the secret of a dashboard. Browsers send cookies to all ports of a host, so
    /// that each has its own name.
    pub(super) fn of_dashboard(port: u16) -> Self {
        let name = Cow::Owned(format!("rep_dashboard_{port}"));
        Self { name, same_site: "Strict", attributes: "" }
    }

    /// Returns the value of the cookie, if the request has it.
    pub(super) fn read<'h>(&self, headers: &'h HeaderMap, scheme: Scheme) -> Option<&'h str> {
        self.read_all(headers, scheme).next()
    }

    /// Returns the values of all cookies of this name: a server at another port may have set one for a path.
    pub(super) fn read_all<'h>(
        &self,
        headers: &'h HeaderMap,
        scheme: Scheme,
    ) -> impl Iterator<Item = &'h str> + use<'h> {
        let name = self.full_name(scheme);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(move |(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
    }

    /// Returns the header that sets the cookie; `None` if it cannot have this value.
    pub(super) fn set(&self, value: &str, scheme: Scheme) -> Option<HeaderValue> {
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
        let text =
            format!("{}={value}{}{}", self.full_name(scheme), self.protection(scheme), self.attributes);
        value.bytes().all(is_allowed).then(|| HeaderValue::try_from(text).ok()).flatten()
    }

    pub(super) fn remove(&self, scheme: Scheme) -> Option<HeaderValue> {
        let text = format!("{}={}; Max-Age=0", self.full_name(scheme), self.protection(scheme));
        HeaderValue::try_from(text).ok()
    }

    fn full_name(&self, scheme: Scheme) -> String {
        let prefix = if scheme == Scheme::Https { HOST_PREFIX } else { "" };
        format!("{prefix}{}", self.name)
    }

    /// Returns the attributes that keep the cookie from others.
    fn protection(&self, scheme: Scheme) -> String {
        let secure = if scheme == Scheme::Https { "; Secure" } else { "" };
        format!("; Path=/; HttpOnly; SameSite={}{secure}", self.same_site)
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
