//! A library that follows its directory: a new skill can be loaded at once, and the catalog that a model
//! already has stays valid.

use std::time::Duration;

use repertoire::Library;
use serde_json::json;

const SKILL: &str =
    "---\nname: farewell\ndescription: Says goodbye. Use when someone leaves.\n---\n\nWave.\n";

async fn follow() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let library = Library::builder().directory(directory.path()).watch().open().await?;
    let session = library.session().await?;
    let mut changes = library.subscribe();
    let catalog = session.catalog().text;

    let skill = directory.path().join("farewell");
    std::fs::create_dir(&skill)?;
    std::fs::write(skill.join("SKILL.md"), SKILL)?;

    let Some(change) = changes.next_within(Duration::from_secs(30)) else {
        anyhow::bail!("no change was seen");
    };
    println!("added: {:?}", change.added);

    // The pinned catalog keeps its bytes, so prompt caches stay valid. The delta is one note for the next
    // user message.
    assert_eq!(session.catalog().text, catalog);
    println!("note for the model: {}", session.delta().await.text);
    let reply = session.call("load_skill", &json!({"name": "farewell"})).await;
    assert!(reply.text().contains("Wave."));
    Ok(())
}

fn main() -> anyhow::Result<()> {
    pollster::block_on(follow())
}
