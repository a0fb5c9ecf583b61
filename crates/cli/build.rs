//! Lays a release out so that what a server runs lies together.
//!
//! Linux maps a program by the 64 KB around whatever is touched. Functions that run while skills are served are a fifth of the
//! program and lie all over it, so without this nearly all of it becomes resident. `layout/serve.txt` names them, `layout/update`
//! writes that list, and the linker is given a script that puts them first. A list that is out of date costs memory and nothing
//! else: a name that is not there matches nothing, and a function that is not on it lies where it always did.

#![allow(clippy::disallowed_methods, clippy::print_stdout)] // A build script reads the environment and speaks to Cargo.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

const LIST: &str = "layout/serve.txt";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LIST}");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("PROFILE", "release") {
        return Ok(());
    }
    let Some(directory) = env::var_os("OUT_DIR").map(PathBuf::from) else { return Ok(()) };
    let path = directory.join("serve.ld");
    fs::write(&path, script(&fs::read_to_string(LIST)?))?;
    if is_understood(&path, &directory) {
        println!("cargo::rustc-link-arg-bins=-T");
        println!("cargo::rustc-link-arg-bins={}", path.display());
    }
    Ok(())
}

/// Returns the linker script for a list of functions, a group of names between lines that start with `#`.
///
/// What every server runs is the first group and comes last, next to where the program starts.
fn script(list: &str) -> String {
    let mut groups = vec![Vec::new()];
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (line.starts_with('#'), groups.last_mut()) {
            (false, Some(group)) => group.push(line),
            _ => groups.push(Vec::new()),
        }
    }
    let mut script = "SECTIONS\n{\n  .text.serve :\n  {\n".to_owned();
    for group in groups.iter().rev().filter(|group| !group.is_empty()) {
        script.push_str("    *(");
        for name in group {
            // What the compiler takes for unlikely it keeps apart, and much of that is what happens once. Functions of one name have
            // numbers.
            let _ = write!(script, " .text.{name} .text.{name}.* .text.unlikely.{name}");
        }
        script.push_str(" )\n");
    }
    // Where it lies among other sections is left to the linker's own script.
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    script
}

/// Returns whether the linker in use takes the script at `path`; not every linker does. It is tried out in `directory`.
fn is_understood(path: &Path, directory: &Path) -> bool {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--crate-name", "trial", "--crate-type", "bin", "--target", &variable("TARGET")]);
    rustc.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    rustc.args(["-C", "link-arg=-T", "-C"]).arg(format!("link-arg={}", path.display()));
    rustc.arg("-o").arg(directory.join("trial")).arg("-");
    let child = rustc.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.is_ok_and(|mut child| {
        let is_told = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(b"fn main() {}").is_ok());
        child.wait().is_ok_and(|status| status.success()) && is_told
    })
}
