//! Signed JSON Web Tokens (RFC 7519).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fault::OidcFault;
use super::keys::{KeySet, decode};

/// Maximum characters of a token.
const MAX_CHARS: usize = 16 * 1024;

/// The difference between the clocks of the provider and of this server that is tolerated.
const LEEWAY: Duration = Duration::from_secs(60);

/// A token whose signature was not checked.
pub(super) struct UnverifiedToken<'t> {
    header: Header,
    /// The header and the claims as they were signed.
    signed: &'t str,
    signature: Vec<u8>,
    claims: &'t str,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// The kind of token.
    typ: Option<String>,
    /// The names of extensions without which the token is not understood.
    crit: Option<Value>,
}

/// Returns `true` if `token` has the form of a signed JSON Web Token.
pub(crate) fn is_jwt(token: &str) -> bool {
    token.len() <= MAX_CHARS && token.starts_with("ey") && token.matches('.').count() == 2
}

impl<'t> UnverifiedToken<'t> {
    /// Returns the token written as `text`.
    pub(super) fn parse(text: &'t str) -> Result<Self, OidcFault> {
        let malformed = || OidcFault::Token("it has not the form of one");
        let (signed, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
        if text.len() > MAX_CHARS {
            return Err(OidcFault::Token("it is too long"));
        }
        let header = decode(header).and_then(|header| serde_json::from_slice::<Header>(&header).ok());
        let header = header.ok_or_else(malformed)?;
        if header.crit.is_some() {
            return Err(OidcFault::Token("it needs extensions that are not known"));
        }
        Ok(Self { header, signed, signature: decode(signature).ok_or_else(malformed)?, claims })
    }

    /// Returns the name of the key that it says to be signed with.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Returns `false` if it says to be of a kind that is not sent as a bearer token, such as a logout token.
    pub(super) fn may_be_access_token(&self) -> bool {
        let typ = self.header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        ["jwt", "at+jwt"].contains(&typ.strip_prefix("application/").unwrap_or(&typ))
    }

    pub(super) fn verify(&self, keys: &KeySet) -> Result<Claims, OidcFault> {
        if !keys.verify(self.key_id(), &self.header.alg, self.signed.as_bytes(), &self.signature) {
            return Err(OidcFault::Token("no key of the provider signed it"));
        }
        let claims = decode(self.claims).and_then(|claims| serde_json::from_slice(&claims).ok());
        claims.map(Claims).ok_or(OidcFault::Token("its claims are not a JSON object"))
    }
}

/// The claims of a token that the provider signed.
#[derive(Debug, Clone)]
pub(crate) struct Claims(Map<String, Value>);

impl Claims {
    #[cfg(test)]
    pub(super) fn of(claims: Value) -> Self {
        Self(claims.as_object().cloned().unwrap_or_default())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns the texts of a claim that is a list, or that is one text.
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        match self.get(name) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Fails unless the token is by `issuer`, for `audience`, and valid at the time `now`.
    pub(super) fn expect(&self, issuer: &str, audience: &str, now: SystemTime) -> Result<(), OidcFault> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = |name: &str| match self.get(name) {
            None => Ok(None),
            Some(value) => {
                let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0);
                let fault = OidcFault::Token("it has an invalid time");
                seconds.map(|seconds| Some(Duration::from_secs(seconds as u64))).ok_or(fault)
            }
        };
        if self.text("iss") != Some(issuer) {
            return Err(OidcFault::Token("another provider issued it"));
        }
        if !self.texts("aud").contains(&audience) {
            return Err(OidcFault::Token("it is for another audience"));
        }
        let end = time("exp")?.ok_or(OidcFault::Token("it has no end"))?;
        if now >= end.saturating_add(LEEWAY) {
            return Err(OidcFault::Token("it has expired"));
        }
        if time("nbf")?.is_some_and(|start| start > now.saturating_add(LEEWAY)) {
            return Err(OidcFault::Token("it is not valid yet"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn issuer_audience_and_times_are_checked() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let check = |change: Value, expect: Option<&str>| {
            let mut claims = json!({"iss": "https://id.test", "aud": "rep", "exp": 1_100});
            for (name, value) in change.as_object().unwrap() {
                claims[name] = value.clone();
            }
            let fault = Claims::of(claims).expect("https://id.test", "rep", now).err();
            assert_eq!(
                fault,
                expect.map(|reason| OidcFault::Token(Box::leak(reason.to_owned().into()))),
                "{change}"
            );
        };
        check(json!({}), None);
        check(json!({"aud": ["other", "rep"]}), None);
        for aud in [json!("other"), json!([]), json!(null), json!("repx"), json!({"rep": 1})] {
            check(json!({ "aud": aud }), Some("it is for another audience"));
        }
        for iss in [json!("https://id.test/"), json!(null), json!(["https://id.test"])] {
            check(json!({ "iss": iss }), Some("another provider issued it"));
        }
        check(json!({"exp": 941}), None);
        check(json!({"exp": 940}), Some("it has expired"));
        check(json!({"exp": 1_100.5}), None);
        for exp in [json!("1100"), json!(-1), json!(null), json!([1_100])] {
            check(json!({ "exp": exp }), Some("it has an invalid time"));
        }
        check(json!({"nbf": 1_060}), None);
        check(json!({"nbf": 1_061}), Some("it is not valid yet"));
        check(json!({"nbf": "soon"}), Some("it has an invalid time"));
        let endless = Claims::of(json!({"iss": "https://id.test", "aud": "rep"}));
        assert!(endless.expect("https://id.test", "rep", now).is_err());
    }

    #[test]
    fn texts_that_are_no_tokens_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "a.b.c",
            "ey.ey",
            "eyJhbGciOiJub25lIn0",
            "eyJhbGciOiJSUzI1NiIsImNyaXQiOlsieCJdfQ.e30.AA",
        ] {
            assert!(UnverifiedToken::parse(bad).is_err(), "{bad}");
        }
        assert!(is_jwt("eyJ.eyJ.x") && !is_jwt("rep_0123") && !is_jwt("eyJ.eyJ") && !is_jwt("eyJ.a.b.c"));
    }
}
