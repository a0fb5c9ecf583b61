//! The searcher of tests behaves as others do.

use crate::word_searcher::WordSearcher;

#[path = "../../tests/support/searcher_suite.rs"]
mod suite;

#[test]
fn the_searcher_suite_holds_for_the_searcher_of_tests() {
    pollster::block_on(suite::searcher_suite(WordSearcher));
}
