//! One way of a person to the provider and back.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use repertoire_model::Digest;
use ring::rand::{SecureRandom as _, SystemRandom};

/// The bytes of randomness of a flow and of a token.
const SECRET_BYTES: usize = 32;

/// One way of a person to the provider and back, kept in a cookie, so that any server of a store can end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignInFlow {
    /// The secret that state, nonce and verifier are derived from.
    seed: String,
    /// The path that the person gets to afterwards.
    pub(crate) return_path: String,
}

impl SignInFlow {
    /// Returns a new flow; `None` if the system has no random numbers.
    pub(crate) fn new(return_path: &str) -> Option<Self> {
        Some(Self { seed: random()?, return_path: return_path.to_owned() })
    }

    pub(crate) fn to_cookie(&self) -> String {
        format!("{}.{}", self.seed, BASE64_URL_SAFE_NO_PAD.encode(&self.return_path))
    }

    /// Returns the flow that [`SignInFlow::to_cookie`] wrote.
    pub(crate) fn from_cookie(value: &str) -> Option<Self> {
        let (seed, return_path) = value.split_once('.')?;
        let return_path = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(return_path).ok()?).ok()?;
        // A shorter seed could be guessed.
        (BASE64_URL_SAFE_NO_PAD.decode(seed).ok()?.len() == SECRET_BYTES)
            .then(|| Self { seed: seed.to_owned(), return_path })
    }

    /// Returns the value that comes back with the person, which shows that the flow began in this browser.
    pub(crate) fn state(&self) -> String {
        self.derived("state")
    }

    /// Returns the value that comes back in the token, which shows that it was made for this flow.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// Returns the value that shows the provider that the code is used where the flow began (RFC 7636).
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    /// Returns the digest of the verifier, which the provider gets first.
    pub(super) fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(Digest::of(self.verifier().as_bytes()).as_bytes())
    }

    fn derived(&self, purpose: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(Digest::of(format!("{purpose} of {}", self.seed).as_bytes()).as_bytes())
    }
}

/// Returns a text that cannot be guessed; `None` if the system has no random numbers.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0; SECRET_BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_read_back_from_its_cookie() {
        let flow = SignInFlow::new("/skills/git?q=a").unwrap();
        assert_eq!(SignInFlow::from_cookie(&flow.to_cookie()), Some(flow.clone()));
        assert_ne!(SignInFlow::new("/").unwrap().state(), flow.state());
        let values = [flow.state(), flow.nonce(), flow.verifier(), flow.challenge()];
        assert!(values.iter().all(|value| value.len() == 43 && !flow.to_cookie().contains(value)));
        for bad in ["", "x", ".", "AAAA.Lw", &flow.to_cookie()[1..], "a.b.c"] {
            assert_eq!(SignInFlow::from_cookie(bad), None, "{bad}");
        }
    }
}
