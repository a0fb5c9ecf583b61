//! A tool that a skill brings along: approved by a person, copied, and run in a sandbox.
//!
//! The program confines commands by starting itself again, so `main` begins with `launcher::run_if_asked`.

use std::process::ExitCode;

use repertoire::{Library, Runner as _};
use repertoire_exec::{Approval, Executor, launcher};
use repertoire_model::Capabilities;
use repertoire_model::toolbox::Toolbox;
use serde_json::json;

const MANIFEST: &str = "---\nname: shout\ndescription: Makes text loud. Use when a text should be in capitals.\n---\n\nCall `to_capitals`.\n";
const SCHEMA: &str = r#"[{
    "name": "to_capitals",
    "description": "Turn a text into capitals.",
    "command": ["tr", "a-z", "A-Z"],
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
}]"#;

async fn run() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let skill = place.path().join("skills/shout");
    std::fs::create_dir_all(&skill)?;
    std::fs::write(skill.join("SKILL.md"), MANIFEST)?;
    std::fs::write(skill.join("schema.json"), SCHEMA)?;

    let executor = match Executor::detect(place.path().join("state")) {
        Ok(executor) => std::sync::Arc::new(executor),
        Err(error) => {
            println!("SKIPPED: no sandbox works here: {error}");
            return Ok(());
        }
    };
    let library =
        Library::builder().directory(place.path().join("skills")).runner(executor.clone()).open().await?;
    let session = library.session().await?;
    let call = json!({"skill": "shout", "tool": "to_capitals", "arguments": {"text": "hello"}});

    // Nothing runs before the skill is loaded, and nothing before a person approved exactly these files.
    session.call("load_skill", &json!({"name": "shout"})).await;
    println!("{}", session.call("call_skill_tool", &call).await.text());

    // `rep approve` does this after asking a person.
    let snapshot = library.snapshot();
    let entry = &snapshot.entries()[0];
    let bundle = library.registry().bundle(entry).await?;
    let capabilities = Capabilities::of(&Toolbox::read(SCHEMA.as_bytes()).0);
    executor.approvals().keep(Approval::now(entry, &bundle, capabilities, Vec::new()))?;

    let reply = session.call("call_skill_tool", &call).await;
    println!("{}", reply.text());
    assert!(reply.text().contains("HELLO"));

    // Before the program ends, running commands are ended and their leftovers inspected.
    executor.end();
    executor.settled().await;
    Ok(())
}

fn main() -> ExitCode {
    if let Some(code) = launcher::run_if_asked() {
        return code;
    }
    match pollster::block_on(run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
