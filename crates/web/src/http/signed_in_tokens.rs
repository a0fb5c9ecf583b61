//! The tokens that people get when they sign in at the provider.

use std::time::SystemTime;

use repertoire::EventKind;
use repertoire::event::{Event, Surface};
use repertoire::store::{TOKEN_PREFIX, TokenRecord};
use repertoire_model::Digest;

use super::app::App;
use super::stored_tokens::StoreAway;
use crate::oidc::{Person, Provider, random};

/// The author of a token that was made when a person signed in; the issuer follows.
const AUTHOR_PREFIX: &str = "oidc:";

/// Makes a token for `person`, and returns its secret. The text of an error is for people.
pub(super) async fn create(app: &App, provider: &Provider, person: &Person) -> Result<String, String> {
    let stored = app.principals.stored().ok_or("This server has no store, so that nobody can sign in.")?;
    let secret = random().ok_or("The system gives no random numbers.")?;
    let (secret, now) = (format!("{TOKEN_PREFIX}{secret}"), SystemTime::now());
    let mut token = person.token(&secret, now);
    token.author = Some(format!("{AUTHOR_PREFIX}{}", provider.options().issuer));
    token.expires = now.checked_add(provider.options().session);
    let event = event("sign in", &token);
    stored.add(token).await.map_err(|reason| format!("The store takes no new session: {reason}."))?;
    app.server.library().emit(&event);
    Ok(secret)
}

/// Revokes the token `secret`, if it was made when a person signed in. A token that was made otherwise may be
/// used elsewhere, too.
pub(super) async fn revoke(app: &App, secret: &str) -> Result<(), StoreAway> {
    let Some(stored) = app.principals.stored() else { return Ok(()) };
    let digest = Digest::of(secret.as_bytes());
    let token = stored.find(&digest).await?;
    let is_session =
        |token: &TokenRecord| token.author.as_deref().is_some_and(|by| by.starts_with(AUTHOR_PREFIX));
    if let Some(token) = token.filter(|token| is_session(token))
        && stored.revoke(digest).await?
    {
        app.server.library().emit(&event("sign out", &token));
    }
    Ok(())
}

/// Returns the event of a token that was made or revoked.
fn event(action: &str, token: &TokenRecord) -> Event {
    let mut event = Event::new(EventKind::TokenChanged, action, "", SystemTime::now());
    event.surface = Surface::Http;
    event.principal = Some(format!("user:{}", token.name));
    event.agent.clone_from(&token.agent);
    event.query = Some(format!("{} {} {}", token.id(), token.name, token.role));
    event
}
