//! The secret of a dashboard for one person, who gets it from the terminal that started the server.
//!
//! A loopback address can be reached by every account of the machine, and by every sandboxed tool that has the network. The
//! secret distinguishes the person from all of them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue};
use repertoire::store::TOKEN_PREFIX;

use super::cookie::{Cookie, Scheme};
use crate::dashboard::is_equal;
use crate::oidc::random;
use crate::{Error, ErrorKind};

/// The start of the paths that open the pages.
pub(super) const PREFIX: &str = "/open/";

/// The route of these paths, which the secret is taken out of before anything else sees the request.
pub(super) const ROUTE: &str = "/open";

/// The time that a one-time path is valid.
const ONE_TIME: Duration = Duration::from_secs(60);

/// The secret of a server for one person. It is valid for as long as the server runs.
#[derive(Clone)]
pub struct PageSecret(Arc<Secrets>);

struct Secrets {
    secret: String,
    /// The key of the one-time path and its end, until it is used.
    one_time: Mutex<Option<(String, Instant)>>,
}

impl PageSecret {
    /// Returns a new secret.
    pub fn new() -> Result<Self, Error> {
        Ok(Self(Arc::new(Secrets { secret: key()?, one_time: Mutex::default() })))
    }

    /// Returns the path that opens the pages for as long as the server runs.
    pub fn path(&self) -> String {
        format!("{PREFIX}{}", self.0.secret)
    }

    /// Returns a path that opens the pages once, within a minute from `now`. It replaces the one before.
    ///
    /// It is for places that others can read, such as the arguments of a program.
    pub fn one_time_path(&self, now: Instant) -> Result<String, Error> {
        let key = key()?;
        let path = format!("{PREFIX}{key}");
        *self.0.one_time.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, now + ONE_TIME));
        Ok(path)
    }

    /// Returns whether `given` opens the pages. A key of a one-time path is used up by this.
    pub(super) fn opens(&self, given: &str, now: Instant) -> bool {
        let mut one_time = self.0.one_time.lock().unwrap_or_else(PoisonError::into_inner);
        let used = one_time.take_if(|(key, _)| is_equal(given.as_bytes(), key.as_bytes()));
        used.is_some_and(|(_, end)| now < end) || is_equal(given.as_bytes(), self.0.secret.as_bytes())
    }

    /// Returns whether a request to the server at `port` has the cookie that opening the pages sets.
    pub(super) fn is_in(&self, headers: &HeaderMap, port: u16) -> bool {
        let given = Cookie::of_dashboard(port).read(headers, Scheme::Http);
        given.is_some_and(|given| is_equal(given.as_bytes(), self.0.secret.as_bytes()))
    }

    /// Returns the header that sets the cookie.
    pub(super) fn cookie(&self, port: u16) -> Option<HeaderValue> {
        Cookie::of_dashboard(port).set(&self.0.secret, Scheme::Http)
    }
}

impl fmt::Debug for PageSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageSecret")
    }
}

/// Returns a random key. The access log cuts off everything with this prefix, wherever it is in a path.
fn key() -> Result<String, Error> {
    let random =
        random().ok_or_else(|| Error::new(ErrorKind::Io).because("the system gives no random numbers"));
    Ok(format!("{TOKEN_PREFIX}{}", random?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;

    #[test]
    fn a_one_time_path_is_valid_once_and_within_a_minute() {
        let (secret, now) = (PageSecret::new().unwrap(), Instant::now());
        let one_time = || secret.one_time_path(now).unwrap().strip_prefix(PREFIX).unwrap().to_owned();
        let key = one_time();
        assert!(secret.opens(&key, now + Duration::from_secs(59)));
        assert!(!secret.opens(&key, now), "it was used");
        let key = one_time();
        assert!(!secret.opens(&key, now + ONE_TIME), "it has ended");
        assert!(!secret.opens(&key, now), "it was used, even if too late");
        let (before, key) = (one_time(), one_time());
        assert!(!secret.opens(&before, now) && !secret.opens("", now));
        assert!(secret.opens(&key, now), "wrong keys do not use it up");
    }

    #[test]
    fn the_path_is_valid_for_as_long_as_the_server_runs() {
        let (secret, other) = (PageSecret::new().unwrap(), PageSecret::new().unwrap());
        let path = secret.path();
        let key = path.strip_prefix(PREFIX).unwrap();
        let later = Instant::now() + Duration::from_secs(1_000_000);
        assert!(secret.opens(key, later) && secret.opens(key, later));
        assert!(!other.opens(key, later));
        assert!(!format!("{secret:?}").contains(key));
    }

    #[test]
    fn the_cookie_is_that_of_the_port() {
        let (secret, other) = (PageSecret::new().unwrap(), PageSecret::new().unwrap());
        let set = secret.cookie(7437).unwrap();
        let (pair, attributes) = set.to_str().unwrap().split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
        let headers = HeaderMap::from_iter([(header::COOKIE, pair.parse().unwrap())]);
        assert!(secret.is_in(&headers, 7437));
        assert!(!secret.is_in(&headers, 7438) && !other.is_in(&headers, 7437));
        assert!(!secret.is_in(&HeaderMap::new(), 7437));
    }
}
