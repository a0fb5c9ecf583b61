//! The environment of this process: the only place that reads it.

#![allow(clippy::disallowed_methods, reason = "this is the place that reads the environment")]

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

pub(crate) use repertoire_app::workspace::environment::*;

use crate::http::{self, NamedCertificates};

/// Returns the environment of this process.
pub(crate) fn capture() -> Env {
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    // A working directory that was removed leaves relative paths as they are.
    let working_directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let mut env = Env::new(variables, working_directory);
    env.executable = std::env::current_exe().ok();
    let named = NamedCertificates {
        file: env.directory(SSL_CERT_FILE),
        has_directories: env.get(SSL_CERT_DIR).is_some(),
    };
    let text = |name: &&str| env.get(name).and_then(OsStr::to_str);
    let no_proxy = NO_PROXY.iter().find_map(text).unwrap_or_default();
    env.http = http::client(named, PROXIES.iter().filter_map(text), no_proxy);
    env
}

/// Returns the command line, the program's own name included.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}
