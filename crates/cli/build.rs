//! Records what `rep --version --verbose` tells of the build: commit, profile, target and features.

#![allow(clippy::print_stdout, reason = "cargo reads it")]
#![allow(clippy::disallowed_methods, reason = "a build script reads its environment and asks git")]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=REPERTOIRE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // `OUT_DIR` is `PROFILE/build/PACKAGE/out`; `PROFILE` knows only debug and release.
    let out = variable("OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
    let profile = profile.to_string_lossy();
    let features = match variable("CARGO_CFG_FEATURE") {
        chosen if chosen.is_empty() => "default".to_owned(),
        chosen => chosen,
    };
    let commit = match variable("REPERTOIRE_COMMIT") {
        // A build of every day is not made anew for each commit.
        given if given.is_empty() && profile == "debug" => "not recorded in debug builds".to_owned(),
        given if given.is_empty() => packed().or_else(head).unwrap_or_else(|| "not recorded".to_owned()),
        given => given,
    };
    for (name, value) in [
        ("COMMIT", &*commit),
        ("PROFILE", &*profile),
        ("TARGET", &*variable("TARGET")),
        ("FEATURES", &features),
    ] {
        println!("cargo::rustc-env=REPERTOIRE_BUILD_{name}={value}");
    }
}

/// Returns the commit that cargo wrote into a packed crate.
fn packed() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    Some(hash.to_owned())
}

/// Returns the commit of the clone.
fn head() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    git(&["rev-parse", "HEAD"])
}
