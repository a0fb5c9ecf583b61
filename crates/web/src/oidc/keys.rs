//! The public keys of a provider (RFC 7517), and signatures by them (RFC 7518).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

/// Maximum keys of a provider; more are left out.
const MAX_KEYS: usize = 100;

/// The algorithms for RSA keys. They are the only ones beside those of curves: a provider shares no secret
/// with this server, so that an algorithm with a shared key, or with none, never fits a key.
const RSA: [(&str, &RsaParameters); 4] = [
    ("RS256", &RSA_PKCS1_2048_8192_SHA256),
    ("RS384", &RSA_PKCS1_2048_8192_SHA384),
    ("RS512", &RSA_PKCS1_2048_8192_SHA512),
    ("PS256", &RSA_PSS_2048_8192_SHA256),
];

/// The algorithms of keys on curves: the curve, the name, and the algorithm.
const CURVES: [(&str, &str, &dyn VerificationAlgorithm); 3] = [
    ("P-256", "ES256", &ECDSA_P256_SHA256_FIXED),
    ("P-384", "ES384", &ECDSA_P384_SHA384_FIXED),
    ("Ed25519", "EdDSA", &ED25519),
];

#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<PublicKey>);

#[derive(Debug)]
struct PublicKey {
    id: Option<String>,
    /// The only algorithm of the key, if it names one.
    algorithm: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    Curve(String, Vec<u8>),
}

#[derive(Deserialize)]
struct WireKeySet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct WireKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: String,
    n: String,
    e: String,
    x: String,
    y: String,
}

impl KeySet {
    /// Returns the usable keys of a JSON Web Key Set; others are left out. Fails if the text is not a set.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let set: WireKeySet = serde_json::from_slice(text).ok()?;
        let keys = set.keys.into_iter().take(MAX_KEYS);
        Some(Self(keys.filter_map(|key| PublicKey::new(serde_json::from_value(key).ok()?)).collect()))
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// Returns `true` if `signature` of `message` was made with `algorithm` by the key called `id`, or by any
    /// key without an `id`.
    pub(super) fn verify(&self, id: Option<&str>, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let is_named = |key: &&PublicKey| id.is_none() || key.id.as_deref() == id;
        let is_fit = |key: &&PublicKey| key.algorithm.as_deref().is_none_or(|only| only == algorithm);
        self.0.iter().filter(is_named).filter(is_fit).any(|key| key.verify(algorithm, message, signature))
    }
}

impl PublicKey {
    fn new(key: WireKey) -> Option<Self> {
        if key.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        let material = match key.kty.as_str() {
            "RSA" => KeyMaterial::Rsa(RsaPublicKeyComponents { n: number(&key.n)?, e: number(&key.e)? }),
            "EC" => {
                let point = [vec![4], decode(&key.x)?, decode(&key.y)?].concat();
                KeyMaterial::Curve(key.crv, point)
            }
            "OKP" => KeyMaterial::Curve(key.crv, decode(&key.x)?),
            _ => return None,
        };
        Some(Self { id: key.kid, algorithm: key.alg, material })
    }

    fn verify(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            KeyMaterial::Rsa(key) => RSA
                .iter()
                .find(|(name, _)| *name == algorithm)
                .is_some_and(|(_, parameters)| key.verify(parameters, message, signature).is_ok()),
            KeyMaterial::Curve(curve, point) => CURVES
                .iter()
                .find(|(known, name, _)| known == curve && *name == algorithm)
                .is_some_and(|(_, _, algorithm)| {
                    UnparsedPublicKey::new(*algorithm, point).verify(message, signature).is_ok()
                }),
        }
    }
}

/// Returns the bytes that `text` is the base64url of.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Returns the bytes of a number, without zeros before it.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = decode(text)?;
    let start = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[start..].to_vec())
}
