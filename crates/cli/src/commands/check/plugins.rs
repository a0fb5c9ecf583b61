//! Checks plugins and marketplaces beside the skills.

use std::path::Path;

use repertoire::discovery::{is_plugin, plugin};
use repertoire::provider::Problem;
use repertoire::regular_file;
use repertoire_model::plugin::{MAX_BYTES, PluginFinding, read_marketplace};
use repertoire_model::{Policy, RuleId};

/// The files that hold a marketplace, relative to its directory.
pub(crate) const MARKETPLACES: [&str; 3] = [
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".cursor-plugin/marketplace.json",
];

/// Returns the problems of the plugin and of the marketplaces in `directory`, as far as there are any.
pub(super) fn problems(directory: &Path, policy: &Policy) -> Vec<Problem> {
    let mut problems = if is_plugin(directory) { plugin(directory, policy).1 } else { Vec::new() };
    for file in MARKETPLACES {
        problems.extend(marketplace(directory, &directory.join(file), policy));
    }
    problems
}

fn marketplace(directory: &Path, file: &Path, policy: &Policy) -> Vec<Problem> {
    let problem = |finding: PluginFinding| {
        let diagnostic = finding.diagnostic(policy)?;
        Some(Problem { path: file.to_string_lossy().into_owned(), diagnostic })
    };
    let bytes = match regular_file::read(file, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Vec::new();
        }
        Err(error) => {
            let message = format!("the marketplace cannot be read: {error}");
            return problem(PluginFinding { rule: RuleId::MarketplaceInvalid, message })
                .into_iter()
                .collect();
        }
    };
    let (marketplace, findings) = read_marketplace(&bytes);
    let mut problems: Vec<Problem> = findings.into_iter().filter_map(problem).collect();
    for entry in marketplace.map(|marketplace| marketplace.plugins).unwrap_or_default() {
        let Some(path) = entry.directory.map(|path| directory.join(path)) else { continue };
        if !path.is_dir() {
            let message = format!("the directory of the plugin `{}` is not there", entry.name);
            problems.extend(problem(PluginFinding { rule: RuleId::MarketplaceInvalid, message }));
        } else if path.canonicalize().ok() != directory.canonicalize().ok() && is_plugin(&path) {
            problems.extend(plugin(&path, policy).1);
        }
    }
    problems
}
