//! Skills from a source of your own: here a list of notes in the program, elsewhere a database or a web
//! service.
//!
//! A provider lists skills and reads their files. Validation, precedence, catalogs and sessions are the same
//! for all of them.

use repertoire::model::{Document, FileEntry, FileKind, LineRange, ManifestSource, Policy, SkillPath};
use repertoire::provider::{FileContent, FileListing, ListedSkill, Listing, Locator, Provider, Skill};
use repertoire::{BoxFuture, Error, ErrorKind, Library};
use serde_json::json;

/// Serves each of its notes as a skill.
struct Notes {
    texts: Vec<(&'static str, String)>,
}

impl Notes {
    fn new(notes: &[(&'static str, &str, &str)]) -> Self {
        let texts = notes.iter().map(|(name, description, body)| {
            (*name, format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"))
        });
        Self { texts: texts.collect() }
    }

    /// Returns the `SKILL.md` of the note at `locator`.
    fn text(&self, locator: &Locator) -> Option<&str> {
        let note = self.texts.iter().find(|(name, _)| *name == locator.as_str());
        note.map(|(_, text)| text.as_str())
    }

    /// Returns the error for a locator that is not (or no longer) in the list.
    fn missing(locator: &Locator) -> Error {
        Error::new(ErrorKind::SkillNotFound).about(locator.as_str())
    }
}

fn parse(text: &str, policy: &Policy) -> Document {
    Document::parse(ManifestSource { bytes: text.as_bytes(), directory: None, file_name: "SKILL.md" }, policy)
}

impl Provider for Notes {
    fn label(&self) -> &str {
        "notes"
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> BoxFuture<'a, Result<Listing, Error>> {
        let skills = self.texts.iter();
        let skills =
            skills.map(|(name, text)| ListedSkill::new(Locator::new(*name), *name, parse(text, policy)));
        let listing = Listing::of(skills);
        Box::pin(async { Ok(listing) })
    }

    fn get<'a>(
        &'a self,
        locator: &'a Locator,
        policy: &'a Policy,
    ) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        let text = self.text(locator);
        let skill = text.map(|text| Skill { document: parse(text, policy), text: text.to_owned() });
        Box::pin(async { Ok(skill) })
    }

    fn files<'a>(&'a self, locator: &'a Locator, _: &'a Policy) -> BoxFuture<'a, Result<FileListing, Error>> {
        Box::pin(async move {
            let size = self.text(locator).ok_or_else(|| Self::missing(locator))?.len() as u64;
            let path = SkillPath::new("SKILL.md")?;
            let file = FileEntry { path, size: Some(size), kind: FileKind::Manifest, executable: false };
            Ok(FileListing::of(vec![file]))
        })
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        Box::pin(async move {
            let text = self.text(locator).ok_or_else(|| Self::missing(locator))?;
            if path.as_str() != "SKILL.md" {
                return Err(Error::new(ErrorKind::FileNotFound).about(path.as_str()));
            }
            Ok(FileContent::of(text.as_bytes(), lines))
        })
    }
}

async fn load() -> anyhow::Result<()> {
    let notes = Notes::new(&[
        ("motto", "Tells the motto. Use when asked for it.", "Festina lente."),
        ("tea", "Makes tea. Use when someone is cold.", "Four minutes, not five."),
    ]);
    let library = Library::builder().provider(notes).open().await?;
    let session = library.session().await?;
    println!("{}", session.catalog().text);
    let reply = session.call("load_skill", &json!({"name": "tea"})).await;
    println!("{}", reply.text());
    assert!(reply.text().contains("Four minutes"));
    Ok(())
}

fn main() -> anyhow::Result<()> {
    pollster::block_on(load())
}
