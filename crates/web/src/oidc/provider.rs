//! A provider: its documents, the way of people to it, and the tokens that it signed.

use std::sync::Arc;
use std::time::SystemTime;

use axum::http::Uri;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::cached::CachedDocument;
use super::client::{ProviderClient, encoded, percent};
use super::fault::OidcFault;
use super::flow::SignInFlow;
use super::jwt::{Claims, UnverifiedToken};
use super::keys::KeySet;
use super::options::{OidcOptions, is_safe_url};
use super::person::Person;
use crate::{Error, ErrorKind};

/// The document that every provider has, below its address.
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// The information that people let this server have.
const SCOPE: &str = "openid email profile";

/// The way to the token endpoint of a provider that knows no other.
const BASIC: &str = "client_secret_basic";

/// A provider of OpenID Connect. Nothing is asked before it is needed, so that a server starts without it.
pub(crate) struct Provider {
    options: OidcOptions,
    client: ProviderClient,
    metadata: CachedDocument<Metadata>,
    keys: CachedDocument<KeySet>,
}

/// The addresses of a provider.
#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
}

impl Provider {
    /// Returns the provider. Fails if its address is not https, or the client ID or audience is empty.
    pub(crate) fn new(options: OidcOptions) -> Result<Self, Error> {
        if !is_safe_url(&options.issuer) || options.client_id.is_empty() || options.audience.is_empty() {
            return Err(Error::new(ErrorKind::BadProvider).about(options.issuer));
        }
        let (metadata, keys) = (CachedDocument::default(), CachedDocument::default());
        let client = ProviderClient::new(options.http.clone());
        Ok(Self { options, client, metadata, keys })
    }

    pub(crate) fn options(&self) -> &OidcOptions {
        &self.options
    }

    /// Returns its host, by which people recognise it.
    pub(crate) fn host(&self) -> String {
        let uri = self.options.issuer.parse::<Uri>().ok();
        uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns the address at which a person signs in, to come back to `redirect`.
    pub(crate) async fn authorization_url(
        &self,
        flow: &SignInFlow,
        redirect: &str,
    ) -> Result<String, OidcFault> {
        let metadata = self.metadata().await?;
        let endpoint = &metadata.authorization_endpoint;
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        let query = encoded(&[
            ("response_type", "code"),
            ("client_id", &self.options.client_id),
            ("redirect_uri", redirect),
            ("scope", SCOPE),
            ("state", &flow.state()),
            ("nonce", &flow.nonce()),
            ("code_challenge", &flow.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        Ok(format!("{endpoint}{separator}{query}"))
    }

    /// Returns the person that came back with `code`.
    pub(crate) async fn person_of_code(
        &self,
        code: &str,
        flow: &SignInFlow,
        redirect: &str,
    ) -> Result<Person, OidcFault> {
        let metadata = self.metadata().await?;
        let (id, verifier) = (self.options.client_id.as_str(), flow.verifier());
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", &verifier),
        ];
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        let is_basic = methods.is_none_or(|methods| methods.iter().any(|method| method == BASIC));
        let mut authorization = None;
        match self.options.client_secret.as_deref() {
            Some(secret) if is_basic => {
                let pair = format!("{}:{}", percent(id), percent(secret));
                authorization = Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
            }
            Some(secret) => form.extend([("client_id", id), ("client_secret", secret)]),
            None => form.push(("client_id", id)),
        }
        let answer = self.client.post(&metadata.token_endpoint, authorization, &form).await?;
        let answer: Option<TokenAnswer> = serde_json::from_slice(&answer).ok();
        let token = answer.and_then(|answer| answer.id_token);
        let token = token.ok_or_else(|| OidcFault::Provider("it answers without an ID token".to_owned()))?;
        let claims = self.claims(&token, id).await?;
        if claims.text("nonce") != Some(&flow.nonce()) {
            return Err(OidcFault::Token("it was not made for this browser"));
        }
        if claims.get("azp").is_some() && claims.text("azp") != Some(id) {
            return Err(OidcFault::Token("it was made for another client"));
        }
        Person::new(&claims, &self.options)
    }

    /// Returns the person or program that sends `token`.
    pub(crate) async fn person_of_token(&self, token: &str) -> Result<Person, OidcFault> {
        if !UnverifiedToken::parse(token)?.may_be_access_token() {
            return Err(OidcFault::Token("it is of another type than JWT and at+jwt"));
        }
        let claims = self.claims(token, &self.options.audience).await?;
        if ["nonce", "at_hash"].iter().any(|claim| claims.get(claim).is_some()) {
            return Err(OidcFault::Token("it is an ID token, which only says who signed in"));
        }
        Person::new(&claims, &self.options)
    }

    async fn claims(&self, token: &str, audience: &str) -> Result<Claims, OidcFault> {
        let token = UnverifiedToken::parse(token)?;
        let mut keys = self.keys.get(|| self.fetch_keys()).await?;
        // Providers change their keys; a token of a new one is the first that is heard of it.
        let is_known = token.key_id().is_none_or(|id| keys.has(id));
        if !is_known && let Some(newer) = self.keys.newer(&keys, || self.fetch_keys()).await {
            keys = newer;
        }
        let claims = token.verify(&keys)?;
        claims.expect(&self.options.issuer, audience, SystemTime::now())?;
        Ok(claims)
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, OidcFault> {
        self.metadata.get(|| self.fetch_metadata()).await
    }

    async fn fetch_metadata(&self) -> Result<Metadata, OidcFault> {
        let url = format!("{}{DISCOVERY}", self.options.issuer.trim_end_matches('/'));
        let text = self.client.get(&url, "discovery document").await?;
        let fault = |reason: &str| OidcFault::Provider(format!("discovery document: {reason}"));
        let metadata: Metadata = serde_json::from_slice(&text).map_err(|_| fault("it is not understood"))?;
        if metadata.issuer != self.options.issuer {
            return Err(fault("it is that of another issuer than `oidc.issuer`"));
        }
        if !is_safe_url(&metadata.authorization_endpoint) {
            return Err(fault("the authorization endpoint is not https"));
        }
        Ok(metadata)
    }

    async fn fetch_keys(&self) -> Result<KeySet, OidcFault> {
        let metadata = self.metadata().await?;
        let text = self.client.get(&metadata.jwks_uri, "keys").await?;
        KeySet::parse(&text).ok_or_else(|| OidcFault::Provider("keys: they are not understood".to_owned()))
    }
}
