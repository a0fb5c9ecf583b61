//! `--baseline`: the findings that a project has for now.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use repertoire::change::{FileKind, replace_file};
use repertoire::regular_file;
use serde::{Deserialize, Serialize};

use super::findings::{Findings, PlacedFinding};
use crate::error::CliError;
use crate::wire::Workspace;

/// The largest baseline, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The file of `--baseline`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Baseline {
    findings: Vec<KnownFinding>,
}

/// A finding of a baseline. All but the fingerprint is there for readers.
#[derive(Debug, Serialize, Deserialize)]
struct KnownFinding {
    path: String,
    rule: String,
    message: String,
    fingerprint: String,
}

impl Baseline {
    /// Reads the baseline at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let failed = |message: String| CliError::usage(format!("the baseline {} {message}", path.display()));
        let bytes = regular_file::read(path, MAX_BYTES).map_err(|error| {
            let hint = "`--write-baseline` beside `--baseline` writes it";
            failed("cannot be read".to_owned()).because(error).hint(hint)
        })?;
        serde_json::from_slice(&bytes).map_err(|error| failed(format!("is not one: {error}")))
    }

    /// Removes the findings that it has from `findings`, and returns the number of its own that are gone.
    pub(super) fn apply(&self, workspace: &Workspace, findings: &mut Findings<'_>) -> usize {
        let mut known: BTreeSet<&str> = self.findings.iter().map(|known| &*known.fingerprint).collect();
        findings.remove_known(workspace, |fingerprint| known.remove(fingerprint));
        known.len()
    }

    /// Writes `findings` to the file at `path`, sorted, and returns their number.
    pub(super) fn write(path: &Path, findings: Vec<PlacedFinding<'_>>) -> Result<usize, CliError> {
        let known = findings.into_iter().map(|finding| KnownFinding {
            path: finding.path,
            rule: finding.found.rule.to_string(),
            message: finding.found.message.clone(),
            fingerprint: finding.fingerprint,
        });
        let mut findings: Vec<KnownFinding> = known.collect();
        let key = |known: &KnownFinding| [&known.path, &known.rule, &known.fingerprint].map(String::clone);
        findings.sort_by_cached_key(key);
        let number = findings.len();
        let mut text = serde_json::to_vec_pretty(&Self { findings })?;
        text.push(b'\n');
        let before = match regular_file::read(path, MAX_BYTES) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(CliError::io("read", path, error)),
        };
        replace_file(path, FileKind::User { before: before.as_deref() }, Some(&text))?;
        Ok(number)
    }
}
