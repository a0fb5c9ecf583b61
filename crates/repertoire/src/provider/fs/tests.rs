//! Tests of the provider of skills in a directory.

use pollster::block_on;

use super::*;
use crate::testing;

#[test]
fn the_provider_suite_holds() {
    let root = tempfile::tempdir().unwrap();
    testing::write_library(root.path()).unwrap();
    block_on(testing::provider_suite(&FsProvider::new(FsOptions::new("test", root.path()))));
}
