//! Options of OpenID Connect.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use axum::http::Uri;
use repertoire::config::OidcGroup;
use repertoire::http::HttpClient;
use repertoire::store::Role;

/// The time for which a person stays signed in by default.
const SESSION: Duration = Duration::from_secs(12 * 60 * 60);

repertoire_model::options! {
    /// Options of OpenID Connect.
    #[derive(Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct OidcOptions {
        /// The address of the provider, exactly as it calls itself.
        pub issuer: String,
        /// The client that requests to the provider go through.
        pub http: HttpClient,
        /// The name under which the provider knows this server.
        pub client_id: String,
        /// The secret that the provider knows this server by; `None` for a public client.
        pub client_secret: Option<String>,
        /// The audience of JSON Web Tokens that programs send.
        pub audience: String,
        /// The claim with the name of a person; `None` for the verified address, or else the subject.
        pub name_claim: Option<String>,
        /// The claim with the groups of a person.
        pub groups_claim: String = "groups".to_owned(),
        /// The role of people in no listed group; `None` if they get no access.
        pub role: Option<Role>,
        /// The rights of groups, by name.
        pub groups: BTreeMap<String, OidcGroup>,
        /// The time for which a person stays signed in.
        pub session: Duration = SESSION,
    }
}

impl OidcOptions {
    /// Returns options for the provider `issuer`, which knows this server as `client_id`. Nobody has access.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        let client_id = client_id.into();
        let audience = client_id.clone();
        Self { issuer: issuer.into(), audience, client_id, ..Self::default() }
    }
}

/// Leaves the secret out.
impl fmt::Debug for OidcOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcOptions")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("audience", &self.audience)
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}

/// Returns `true` if a provider may be asked at `url`: over https, or on this machine.
pub(super) fn is_safe_url(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_local = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let has_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    has_host && (uri.scheme_str() == Some("https") || uri.scheme_str() == Some("http") && is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_asked_over_https_or_on_this_machine() {
        for good in
            ["https://id.example.com", "https://id.example.com/a/", "http://127.0.0.1:1/x", "http://[::1]:1"]
        {
            assert!(is_safe_url(good), "{good}");
        }
        for bad in [
            "",
            "id.example.com",
            "http://id.example.com",
            "ftp://x",
            "https://",
            "http://localhost@evil.test",
            "/x",
        ] {
            assert!(!is_safe_url(bad), "{bad}");
        }
    }

    #[test]
    fn the_secret_is_not_shown() {
        let mut options = OidcOptions::new("https://id.example.com", "rep");
        options.client_secret = Some("hush".to_owned());
        assert!(!format!("{options:?}").contains("hush"));
    }
}
