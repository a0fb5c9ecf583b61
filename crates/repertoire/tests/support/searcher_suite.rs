//! The conformance suite of searchers.

#![allow(unreachable_pub, reason = "it is a module of several tests")]

use repertoire::{Library, MemoryProvider, SearchHit, SearchRequest, Searcher, SkillDefinition, Visibility};

/// Checks that a searcher does what [`Searcher`] promises, and panics otherwise.
pub async fn searcher_suite(searcher: impl Searcher + 'static) {
    let skill = |name: &str, description: &str| SkillDefinition::new(name, description, "# Steps\n");
    let mut tagged = skill("pdf-merge", "Merges PDF files.");
    tagged.manifest.tags = vec!["Office".to_owned()];
    let mut kept = skill("pdf-sign", "Signs PDF files.");
    kept.manifest.disable_model_invocation = true;
    let skills =
        vec![skill("deploy", "Deploys services."), skill("pdf-forms", "Fills PDF forms."), tagged, kept];
    let builder = Library::builder().provider(MemoryProvider::new("memory", skills)).searcher(searcher);
    let library = builder.open().await.unwrap_or_else(|error| panic!("{}", error.chain()));
    let snapshot = library.snapshot();
    let found = async |request: &SearchRequest, visibility: Visibility<'_>| {
        let hits = library.search(&snapshot, request, visibility).await;
        assert!(hits.len() <= request.limit && hits.is_sorted_by(|a, b| a.score >= b.score), "{hits:?}");
        let name = |hit: &SearchHit| hit.entry.name().to_string();
        hits.iter().map(name).collect::<Vec<_>>()
    };
    let mut request = SearchRequest::new("fills pdf forms", 10);
    assert_eq!(found(&request, Visibility::All).await, ["pdf-forms", "pdf-merge"], "best first");
    let visible = snapshot.visible(|entry| entry.name().as_str() != "pdf-forms");
    assert_eq!(found(&request, Visibility::Of(&visible)).await, ["pdf-merge"], "what is visible");
    request.limit = 1;
    assert_eq!(found(&request, Visibility::All).await, ["pdf-forms"], "as many as are asked for");
    request.tag = Some("OFFICE".to_owned());
    assert_eq!(found(&request, Visibility::All).await, ["pdf-merge"], "with the tag");
    request.source = Some("other".to_owned());
    assert!(found(&request, Visibility::All).await.is_empty(), "of the source");
    for query in ["", " \n", "🙂", "\0\u{202e}", "\"a\" OR NEAR(b*) -c"] {
        found(&SearchRequest::new(query, 10), Visibility::All).await;
    }
    assert!(found(&SearchRequest::new("fills pdf forms", 0), Visibility::All).await.is_empty());
    library.save().await;
}
