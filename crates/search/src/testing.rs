//! The conformance suite of embedders.

use crate::meaning::{Embedder, Vector};
use crate::skill_text::SkillText;

/// Checks the contract of [`Embedder`], and panics at the first violation.
pub async fn embedder_suite(embedder: &dyn Embedder) {
    assert!(!embedder.id().is_empty());
    assert_eq!(embedder.id(), embedder.id(), "an embedder has one id");

    let skill = |name, description| SkillText { name, description, ..SkillText::default() };
    let forms = skill("pdf-forms", "Fills in forms of PDF documents.");
    let deploy = skill("deploy", "Deploys services to Kubernetes clusters.");
    let bread = skill("bread", "Bakes sourdough bread with rye flour.");
    let all = skill_vectors(embedder, &[forms, deploy, bread]).await;
    assert!(all.iter().all(Option::is_some), "a skill with a text has an embedding");
    for (index, one) in [forms, deploy, bread].into_iter().enumerate() {
        assert_eq!(
            skill_vectors(embedder, &[one]).await[0],
            all[index],
            "an embedding does not depend on the other skills of a call"
        );
    }
    let turned = skill_vectors(embedder, &[bread, deploy, forms]).await;
    assert!(turned.iter().rev().eq(&all), "embeddings come in the order of the skills");
    assert!(skill_vectors(embedder, &[]).await.is_empty());
    assert_eq!(skill_vectors(embedder, &[SkillText::default(), forms]).await[1], all[0]);

    let asked = query_vector(embedder, "fill in the forms of this PDF document").await;
    assert_eq!(asked, query_vector(embedder, "fill in the forms of this PDF document").await);
    let asked = asked.unwrap_or_else(|| panic!("a query with a text has an embedding"));
    let near = |index: usize| all[index].as_ref().map_or(0.0, |vector| vector.cosine(&asked));
    assert!(near(0) > near(1) && near(0) > near(2), "a skill of similar meaning is nearer");
    let dimensions = all.iter().flatten().map(Vector::dimensions);
    assert!(
        dimensions.into_iter().all(|dimensions| dimensions == asked.dimensions()),
        "all embeddings have the same dimensions"
    );

    let long = "a long text about many things ".repeat(10_000);
    for text in ["", " \n", "🙂", "\0\u{1b}\u{202e}\"}", "技能を探す", &long] {
        assert_eq!(query_vector(embedder, text).await, query_vector(embedder, text).await, "{text:.40}");
        let skill = SkillText { name: text, description: text, body: text, ..SkillText::default() };
        assert_eq!(skill_vectors(embedder, &[skill]).await.len(), 1);
    }
}

async fn query_vector(embedder: &dyn Embedder, text: &str) -> Option<Vector> {
    embedder.query(text).await.unwrap_or_else(|error| panic!("{text:.40}: {}", error.chain()))
}

async fn skill_vectors(embedder: &dyn Embedder, skills: &[SkillText<'_>]) -> Vec<Option<Vector>> {
    let vectors = embedder.skills(skills).await.unwrap_or_else(|error| panic!("{}", error.chain()));
    assert_eq!(vectors.len(), skills.len(), "there is one result for every skill");
    vectors
}
