//! The secret of a dashboard for one person, who gets it from the terminal that started the server.
//!
//! A loopback address can be reached by every account of the machine, and by every sandboxed tool that has
//! the network. The secret distinguishes the person from all of them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    one_time: Mutex<Option<OneTime>>,
}

/// The one-time path.
struct OneTime {
    key: String,
    end: Instant,
    /// The value of the cookie that was set when the path was used.
    cookie: Option<String>,
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
        *self.one_time() = Some(OneTime { key, end: now + ONE_TIME, cookie: None });
        Ok(path)
    }

    fn one_time(&self) -> MutexGuard<'_, Option<OneTime>> {
        self.0.one_time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the header that sets the cookie for the server at `port`, if `given` opens the pages.
    pub(super) fn open(&self, given: &str, port: u16, now: Instant) -> Option<HeaderValue> {
        let value = if is_equal(given.as_bytes(), self.0.secret.as_bytes()) {
            self.0.secret.clone()
        } else {
            self.use_one_time(given, now)?
        };
        Cookie::of_dashboard(port).set(&value, Scheme::Http)
    }

    /// Uses the one-time path up, and returns the value of the cookie for it.
    ///
    /// If the path comes twice within its minute, somebody else may have been the first, so that cookie ends.
    fn use_one_time(&self, given: &str, now: Instant) -> Option<String> {
        let mut one_time = self.one_time();
        let known = one_time
            .as_mut()
            .filter(|one_time| is_equal(given.as_bytes(), one_time.key.as_bytes()) && now < one_time.end)?;
        if known.cookie.is_some() {
            *one_time = None;
            return None;
        }
        known.cookie = key().ok();
        known.cookie.clone()
    }

    /// Returns whether a request to the server at `port` has a cookie that opening the pages sets.
    pub(super) fn is_in(&self, headers: &HeaderMap, port: u16) -> bool {
        let one_time = self.one_time().as_ref().and_then(|one_time| one_time.cookie.clone());
        let values = [Some(self.0.secret.clone()), one_time];
        Cookie::of_dashboard(port)
            .read_all(headers, Scheme::Http)
            .any(|given| values.iter().flatten().any(|value| is_equal(given.as_bytes(), value.as_bytes())))
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

    const PORT: u16 = 7437;

    fn headers(cookies: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::COOKIE, cookies.parse().unwrap())])
    }

    /// Returns the cookie that a header sets, as a browser sends it back.
    fn sent(set: &HeaderValue) -> HeaderMap {
        headers(set.to_str().unwrap().split_once("; ").unwrap().0)
    }

    #[test]
    fn a_one_time_path_is_valid_once_and_within_a_minute() {
        let (secret, now) = (PageSecret::new().unwrap(), Instant::now());
        let one_time = || secret.one_time_path(now).unwrap().strip_prefix(PREFIX).unwrap().to_owned();
        let key = one_time();
        assert!(secret.open(&key, PORT, now + Duration::from_secs(59)).is_some());
        assert!(secret.open(&key, PORT, now).is_none(), "it was used");
        let key = one_time();
        assert!(secret.open(&key, PORT, now + ONE_TIME).is_none(), "it has ended");
        let (before, key) = (one_time(), one_time());
        assert!(secret.open(&before, PORT, now).is_none() && secret.open("", PORT, now).is_none());
        assert!(secret.open(&key, PORT, now).is_some(), "wrong keys do not use it up");
    }

    #[test]
    fn a_one_time_path_that_two_have_used_is_of_no_use_to_either() {
        let (secret, now) = (PageSecret::new().unwrap(), Instant::now());
        let path = secret.one_time_path(now).unwrap();
        let key = path.strip_prefix(PREFIX).unwrap();
        let thief = sent(&secret.open(key, PORT, now).unwrap());
        assert!(secret.is_in(&thief, PORT));
        assert!(secret.open(key, PORT, now).is_none());
        assert!(!secret.is_in(&thief, PORT));
        // Opening it again later, from the history of the browser, ends nothing.
        let path = secret.one_time_path(now).unwrap();
        let key = path.strip_prefix(PREFIX).unwrap();
        let person = sent(&secret.open(key, PORT, now).unwrap());
        assert!(secret.open(key, PORT, now + ONE_TIME).is_none());
        assert!(secret.is_in(&person, PORT));
    }

    #[test]
    fn the_path_is_valid_for_as_long_as_the_server_runs() {
        let (secret, other) = (PageSecret::new().unwrap(), PageSecret::new().unwrap());
        let path = secret.path();
        let key = path.strip_prefix(PREFIX).unwrap();
        let later = Instant::now() + Duration::from_secs(1_000_000);
        assert!(secret.open(key, PORT, later).is_some() && secret.open(key, PORT, later).is_some());
        assert!(other.open(key, PORT, later).is_none());
        assert!(!format!("{secret:?}").contains(key));
    }

    #[test]
    fn the_cookie_is_that_of_the_port() {
        let (secret, other) = (PageSecret::new().unwrap(), PageSecret::new().unwrap());
        let path = secret.path();
        let set = secret.open(path.strip_prefix(PREFIX).unwrap(), PORT, Instant::now()).unwrap();
        let (pair, attributes) = set.to_str().unwrap().split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
        assert!(secret.is_in(&headers(pair), PORT));
        assert!(!secret.is_in(&headers(pair), 7438) && !other.is_in(&headers(pair), PORT));
        assert!(!secret.is_in(&HeaderMap::new(), PORT));
        // A server at another port may set a cookie of this name.
        assert!(secret.is_in(&headers(&format!("rep_dashboard_{PORT}=x; {pair}")), PORT));
    }
}
