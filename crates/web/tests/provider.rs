//! A provider of OpenID Connect on this machine, with real keys.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64_URL};
use percent_encoding::percent_decode_str;
use repertoire_model::Digest;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

pub(crate) const CLIENT: &str = "rep";
pub(crate) const SECRET: &str = "a secret: with+signs";

/// A key of the provider.
pub(crate) enum SigningKey {
    Rsa(RsaKeyPair),
    Curve(EcdsaKeyPair),
}

impl SigningKey {
    pub(crate) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("../testdata/oidc/rsa.pk8")).unwrap())
    }

    pub(crate) fn curve() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Curve(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Curve(_) => "ES256",
        }
    }

    fn public(&self, id: &str) -> Value {
        match self {
            Self::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256", "n": BASE64_URL.encode(n), "e": BASE64_URL.encode(e)})
            }
            Self::Curve(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": BASE64_URL.encode(x), "y": BASE64_URL.encode(y)})
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Curve(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
        }
    }
}

pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What the provider answers, and what it was asked.
pub(crate) struct ProviderState {
    key: SigningKey,
    key_id: String,
    /// Claims of the next ID token beside the usual ones.
    pub(crate) claims: Value,
    /// The query of the last person that came to sign in.
    authorization: HashMap<String, String>,
    /// The number of requests for the keys.
    pub(crate) key_requests: usize,
}

pub(crate) struct TestProvider {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ProviderState>>,
    is_ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TestProvider {
    pub(crate) fn start(key: SigningKey) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), key)
    }

    pub(crate) fn start_at(address: SocketAddr, key: SigningKey) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(ProviderState {
            key,
            key_id: "one".to_owned(),
            claims: json!({}),
            authorization: HashMap::new(),
            key_requests: 0,
        }));
        let is_ended = Arc::new(AtomicBool::new(false));
        let (shared, ended) = (Arc::clone(&state), Arc::clone(&is_ended));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                answer(stream.unwrap(), address, &shared);
            }
        });
        Self { address, state, is_ended, thread: Some(thread) }
    }

    pub(crate) fn issuer(&self) -> String {
        issuer(self.address)
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap()
    }

    /// Replaces the key.
    pub(crate) fn rotate(&self, key: SigningKey, id: &str) {
        let mut state = self.lock();
        (state.key, state.key_id) = (key, id.to_owned());
    }

    /// Returns a token with the usual claims and `more`.
    pub(crate) fn token(&self, more: &Value) -> String {
        let claims = claims(&self.issuer(), more);
        self.lock().signed(&claims)
    }

    /// Signs in at the address that the server led to. Returns the query to come back with.
    pub(crate) fn authorize(&self, location: &str) -> String {
        let query = location.strip_prefix(&format!("{}/authorize?", self.issuer())).unwrap_or_default();
        let query = parse(query);
        for (name, expect) in
            [("response_type", "code"), ("client_id", CLIENT), ("code_challenge_method", "S256")]
        {
            assert_eq!(query[name], expect);
        }
        assert!(query["scope"].split(' ').any(|scope| scope == "openid"));
        let back = format!("code=the-code&state={}", query["state"]);
        self.lock().authorization = query;
        back
    }
}

impl Drop for TestProvider {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

impl ProviderState {
    fn signed(&self, claims: &Value) -> String {
        self.signed_as(&json!("JWT"), claims)
    }

    /// Returns a token of the type `typ`.
    pub(crate) fn signed_as(&self, typ: &Value, claims: &Value) -> String {
        let header = json!({"alg": self.key.algorithm(), "kid": self.key_id, "typ": typ});
        jwt(&header, claims, |message| self.key.sign(message))
    }

    /// Answers a request for tokens as RFC 6749, 7636 and OpenID Connect ask for it.
    fn exchange(
        &self,
        issuer: &str,
        head: &str,
        form: &HashMap<String, String>,
    ) -> Result<Value, &'static str> {
        let authorization = head.lines().find_map(|line| line.strip_prefix("authorization: Basic "));
        let pair =
            String::from_utf8(BASE64_STANDARD.decode(authorization.ok_or("no_client")?).unwrap()).unwrap();
        let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
        let (id, secret) = pair.split_once(':').unwrap();
        if (decode(id).as_str(), decode(secret).as_str()) != (CLIENT, SECRET) {
            return Err("invalid_client");
        }
        let asked = &self.authorization;
        let challenge = BASE64_URL.encode(Digest::of(form["code_verifier"].as_bytes()).as_bytes());
        let is_same = form["code"] == "the-code" && form["redirect_uri"] == asked["redirect_uri"];
        if !is_same || challenge != asked["code_challenge"] || form["grant_type"] != "authorization_code" {
            return Err("invalid_grant");
        }
        let mut more = json!({"nonce": asked["nonce"]});
        for (name, value) in self.claims.as_object().unwrap() {
            more[name] = value.clone();
        }
        Ok(
            json!({"access_token": "opaque", "token_type": "Bearer", "id_token": self.signed(&claims(issuer, &more))}),
        )
    }
}

/// Returns a token with `header` and `claims`, signed by `sign`.
pub(crate) fn jwt(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| BASE64_URL.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    format!("{message}.{}", BASE64_URL.encode(sign(message.as_bytes())))
}

/// Returns the usual claims with `more`; a claim that is null there is left out.
pub(crate) fn claims(issuer: &str, more: &Value) -> Value {
    let mut claims = json!({
        "iss": issuer, "aud": CLIENT, "sub": "1", "email": "ann@example.com", "email_verified": true,
        "groups": ["staff"], "iat": seconds(), "exp": seconds() + 300,
    });
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn issuer(address: SocketAddr) -> String {
    format!("http://{address}/realm")
}

fn parse(query: &str) -> HashMap<String, String> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

fn answer(mut stream: TcpStream, address: SocketAddr, state: &Mutex<ProviderState>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let (head, body) = loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend(&buffer[..length]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let issuer = issuer(address);
    let path = head.split(' ').nth(1).unwrap_or_default().strip_prefix("/realm").unwrap_or_default();
    let mut state = state.lock().unwrap();
    let (status, answer) = match path {
        "/.well-known/openid-configuration" => (
            200,
            json!({
                "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys"),
            }),
        ),
        "/keys" => {
            state.key_requests += 1;
            (200, json!({"keys": [{"kty": "unknown"}, state.key.public(&state.key_id)]}))
        }
        "/token" => match state.exchange(&issuer, &head, &parse(&body.replace('+', " "))) {
            Ok(answer) => (200, answer),
            Err(code) => (400, json!({ "error": code })),
        },
        _ => (404, json!({})),
    };
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let _ = stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{answer}", answer.len()).as_bytes());
}
