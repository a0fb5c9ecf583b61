//! Gives the crate a fingerprint of its own sources.
//!
//! What was parsed by one version of the rules must not be taken for what another would have found, and a version number
//! changes only with a release.

#![allow(clippy::disallowed_methods, clippy::print_stdout)] // A build script reads sources and speaks to Cargo.

use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    collect(Path::new("src"), &mut files);
    files.sort();
    let mut fingerprint: u64 = 0xcbf2_9ce4_8422_2325;
    for path in files {
        let bytes = std::fs::read(&path).unwrap_or_default();
        for byte in path.to_string_lossy().bytes().chain(bytes) {
            fingerprint = (fingerprint ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=REPERTOIRE_MODEL_FINGERPRINT={fingerprint:016x}");
    println!("cargo::rerun-if-changed=src");
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
