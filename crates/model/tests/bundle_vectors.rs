//! The published test vectors for bundle digests.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)] // Tests may touch the world.

use repertoire_model::{Bundle, BundleFile, Digest, SkillPath};
use serde_json::Value;

#[test]
fn digests_are_those_of_the_published_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/bundle/vectors.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for vector in vectors.as_array().unwrap() {
        let file = |file: &Value| {
            let bytes = file["text"].as_str().unwrap().as_bytes();
            BundleFile {
                path: SkillPath::new(file["path"].as_str().unwrap()).unwrap(),
                size: bytes.len() as u64,
                executable: file["executable"].as_bool().unwrap(),
                digest: Digest::of(bytes),
            }
        };
        let bundle = Bundle::new(vector["files"].as_array().unwrap().iter().map(file).collect());
        assert_eq!(
            String::from_utf8(bundle.manifest()).unwrap(),
            vector["manifest"].as_str().unwrap(),
            "{}",
            vector["case"]
        );
        assert_eq!(bundle.digest().to_string(), vector["digest"].as_str().unwrap(), "{}", vector["case"]);
    }
}
