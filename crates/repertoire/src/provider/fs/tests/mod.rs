//! Tests of the provider of skills in a directory.

mod files;
mod listing;
mod reload;

use std::fs;
use std::path::Path;

use pollster::block_on;
use repertoire_model::{LineRange, Policy, RuleId, SkillPath};

use super::*;
use crate::provider::limits::FileCaps;
use crate::provider::{FileListing, Listing, Locator, Provider};
use crate::testing;

fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}. Use when {name} is to be done.\n---\n# {name}\n")
}

/// Writes a file and its parent directories.
fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Writes a skill that consists of nothing but its `SKILL.md`.
fn write_skill(root: &Path, directory: &str) {
    let name = directory.rsplit('/').next().unwrap();
    write(root.join(directory).join("SKILL.md"), skill_md(name));
}

fn provider(root: &Path) -> FsProvider {
    FsProvider::new(FsOptions::new("test", root))
}

fn list(provider: &FsProvider) -> Listing {
    block_on(provider.list(&Policy::default())).unwrap()
}

fn locators(listing: &Listing) -> Vec<&str> {
    listing.skills.iter().map(|skill| skill.locator.as_str()).collect()
}

fn rules(listing: &Listing) -> Vec<RuleId> {
    listing.problems.iter().map(|problem| problem.diagnostic.rule).collect()
}

/// Returns whether permissions bind us; they do not bind root.
fn permissions_bind(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let probe = directory.join("probe");
    fs::write(&probe, "x").unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o000)).unwrap();
    let bind = fs::File::open(&probe).is_err();
    fs::remove_file(probe).unwrap();
    bind
}

#[test]
fn the_provider_suite_holds() {
    let root = tempfile::tempdir().unwrap();
    testing::write_library(root.path()).unwrap();
    block_on(testing::provider_suite(&provider(root.path())));
}
