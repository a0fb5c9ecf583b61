//! Tells a command and a web server of new proposals.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use repertoire::http::{HttpClient, HttpResponse};
use repertoire::store::Proposal;
use repertoire_exec::notify::run_with_input;
use repertoire_model::Digest;
use serde_json::json;

use super::environment::Env;
use super::handle::Workspace;
use super::reporter::Reporter;
use crate::view::ProposalDetailView;

/// The delays before the second, third and fourth attempt.
const DELAYS: [Duration; 3] = [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4)];

/// The longest run of the command, and the longest request.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest time that the end of a command or server is delayed by notifications.
const END_TIMEOUT: Duration = Duration::from_secs(15);

/// The bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Sends notifications on threads of their own. Dropping it waits for them, for a while.
pub(super) struct Notifier {
    targets: Arc<Targets>,
    /// Every thread has a copy, so that `finished` is disconnected after the last one.
    working: Option<Sender<()>>,
    finished: Mutex<Receiver<()>>,
}

/// The receivers of notifications.
struct Targets {
    command: Vec<String>,
    url: String,
    http: HttpClient,
    reporter: Arc<dyn Reporter>,
    /// The secret that bodies are signed with; the error is that its variable is not set.
    secret: Result<Option<String>, String>,
}

impl Notifier {
    /// Returns the notifier that the settings ask for, if they ask for one.
    pub(super) fn of(workspace: &Workspace) -> Option<Self> {
        let settings = &workspace.settings.proposals;
        if settings.notify_command.is_empty() && settings.notify_url.is_empty() {
            return None;
        }
        let targets = Targets {
            command: settings.notify_command.clone(),
            url: settings.notify_url.clone(),
            http: workspace.env.http.clone(),
            reporter: Arc::clone(&workspace.reporter),
            secret: secret(&workspace.env, &settings.notify_secret_env),
        };
        let (working, finished) = mpsc::channel();
        Some(Self { targets: Arc::new(targets), working: Some(working), finished: Mutex::new(finished) })
    }

    /// Starts to tell of `proposal`.
    pub(super) fn tell(&self, proposal: &Proposal) {
        let body = json!(ProposalDetailView::new(proposal)).to_string();
        let (targets, id, working) = (Arc::clone(&self.targets), proposal.id, self.working.clone());
        let work = move || {
            let _working = working;
            if let Some((program, arguments)) = targets.command.split_first() {
                targets.report(id, "proposals.notify_command", retried(|| run(program, arguments, &body)));
            }
            if !targets.url.is_empty() {
                targets.report(id, "proposals.notify_url", targets.post_retried(&body));
            }
        };
        if let Err(error) = thread::Builder::new().name("notify".to_owned()).spawn(work) {
            self.targets.report(id, "proposals", Err(error.to_string()));
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        drop(self.working.take());
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if finished.recv_timeout(END_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            self.targets
                .reporter
                .note("notifications of proposals were given up, because they take too long");
        }
    }
}

impl Targets {
    fn post_retried(&self, body: &str) -> Result<(), String> {
        let secret = self.secret.as_ref().map_err(Clone::clone)?.as_deref();
        retried(|| post(&self.http, &self.url, secret, body))
    }

    fn report(&self, id: u64, setting: &str, outcome: Result<(), String>) {
        if let Err(error) = outcome {
            self.reporter.note(&format!("`{setting}` was not told of proposal {id}: {error}"));
        }
    }
}

/// Returns the value of the variable `name`, or `None` without a name.
fn secret(env: &Env, name: &str) -> Result<Option<String>, String> {
    if name.is_empty() {
        return Ok(None);
    }
    let value = env.named(name);
    value.map(Some).ok_or_else(|| format!("the variable {name} of `proposals.notify_secret_env` is not set"))
}

/// Calls `attempt` until it succeeds, with growing delays, and returns its last outcome.
fn retried(attempt: impl Fn() -> Result<(), String>) -> Result<(), String> {
    let mut outcome = attempt();
    for delay in DELAYS {
        if outcome.is_ok() {
            break;
        }
        thread::sleep(delay);
        outcome = attempt();
    }
    outcome
}

fn run(program: &str, arguments: &[String], body: &str) -> Result<(), String> {
    match run_with_input(program, arguments, body.into(), LIMIT) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

fn post(http: &HttpClient, url: &str, secret: Option<&str>, body: &str) -> Result<(), String> {
    // A redirect would lead to a server that the user did not choose, and is an error.
    let mut request = http.post(url).timeout(LIMIT).header("Content-Type", "application/json");
    if let Some(secret) = secret {
        let signature = Digest::from_bytes(hmac_sha256(secret.as_bytes(), body.as_bytes())).to_hex();
        request = request.header("X-Repertoire-Signature", &format!("sha256={signature}"));
    }
    let sent = request.send(body).and_then(HttpResponse::expect_success);
    sent.map(|_| ()).map_err(|error| error.to_string())
}

/// Returns the HMAC of `message` with SHA-256 (RFC 2104).
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(Digest::of(key).as_bytes());
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |byte: u8, message: &[u8]| {
        let pad = block.iter().map(|key| key ^ byte);
        *Digest::of(&pad.chain(message.iter().copied()).collect::<Vec<u8>>()).as_bytes()
    };
    padded(0x5c, &padded(0x36, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 1, 2, 3 and 6 of RFC 4231.
    #[test]
    fn hmac_sha256_has_the_values_of_rfc_4231() {
        let check = |key: &[u8], message: &[u8], expected: &str| {
            assert_eq!(Digest::from_bytes(hmac_sha256(key, message)).to_hex(), expected);
        };
        check(&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        check(
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        );
        check(&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
        check(
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        );
    }
}
