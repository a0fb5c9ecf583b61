//! The Skills extension, `io.modelcontextprotocol/skills`: its methods and what they put on the wire.
//!
//! rmcp 3.8 does not know the extension. Everything that a release which does would replace is in this file.

use repertoire::{Entry, Session, Snapshot};
use rmcp::ErrorData;
use rmcp::model::{ExtensionCapabilities, JsonObject};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::cursor::{self, PAGE};
use super::uri::{SkillUri, skill_uri};
use crate::audience::Audience;
use crate::shelf::{PublishedSkill, Standing};

/// The name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Lists skills.
pub(crate) const LIST: &str = "skills/list";
/// Returns one skill.
pub(crate) const GET: &str = "skills/get";
/// Lists a directory of a skill.
pub(crate) const READ_DIRECTORY: &str = "resources/directory/read";

/// Returns what clients are told of the extension.
pub(crate) fn capability() -> ExtensionCapabilities {
    let settings = JsonObject::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
    ExtensionCapabilities::from([(EXTENSION.to_owned(), settings)])
}

/// The parameters of `skills/list`.
#[derive(Debug, Default, Deserialize)]
struct ListParams {
    cursor: Option<String>,
}

/// The parameters of `skills/get`.
#[derive(Debug, Deserialize)]
struct GetParams {
    uri: String,
}

/// The parameters of `resources/directory/read`.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectoryParams {
    /// The directory.
    pub(crate) uri: String,
    /// Where the page begins.
    pub(crate) cursor: Option<String>,
}

/// A skill.
#[derive(Debug, Serialize)]
struct SkillWire<'a> {
    uri: String,
    frontmatter: &'a Map<String, Value>,
    resources: Vec<ResourceWire>,
}

/// A file of a skill.
#[derive(Debug, Serialize)]
struct ResourceWire {
    uri: String,
    digest: String,
    size: u64,
}

impl<'a> SkillWire<'a> {
    fn of(skill: &'a PublishedSkill) -> Self {
        let resource = |file: &repertoire_model::BundleFile| ResourceWire {
            uri: skill_uri(&skill.name, file.path.as_str()),
            digest: file.digest.to_string(),
            size: file.size,
        };
        Self {
            uri: skill_uri(&skill.name, "SKILL.md"),
            frontmatter: &skill.frontmatter,
            resources: skill.bundle.files().iter().map(resource).collect(),
        }
    }

    fn into_json(self) -> Result<Value, ErrorData> {
        serde_json::to_value(self).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// Answers `skills/list`.
pub(crate) async fn list(
    audience: &Audience,
    params: Option<Value>,
) -> Result<Map<String, Value>, ErrorData> {
    let ListParams { cursor } = params_of(params)?;
    let snapshot = audience.shared.registry.newest().await;
    let page = published_page(audience, &snapshot, cursor.as_deref()).await?;
    let skills: Vec<Value> =
        page.skills.iter().map(|skill| SkillWire::of(skill).into_json()).collect::<Result<_, _>>()?;
    let mut result = Map::from_iter([("skills".to_owned(), Value::Array(skills))]);
    result.extend(page.next.map(|next| ("nextCursor".to_owned(), json!(next))));
    Ok(result)
}

/// Answers `skills/get`.
pub(crate) async fn get(
    audience: &Audience,
    session: &Session,
    params: Option<Value>,
) -> Result<Map<String, Value>, ErrorData> {
    let GetParams { uri } = params_of(params)?;
    let name = SkillUri::parse(&uri)
        .filter(|parsed| parsed.path.as_ref().is_some_and(|path| path.as_str() == "SKILL.md"))
        .map(|parsed| parsed.name)
        .ok_or_else(|| unknown(&uri))?;
    let snapshot = audience.shared.registry.newest().await;
    let entry = served(audience, session, &snapshot, name.as_str()).ok_or_else(|| unknown(&uri))?;
    match audience.current(entry).await {
        Standing::Published(skill) => {
            let skill = SkillWire::of(&skill).into_json()?;
            Ok(Map::from_iter([("skill".to_owned(), skill)]))
        }
        Standing::Withheld(withheld) => {
            Err(ErrorData::invalid_params(why_not(&uri, &withheld.reasons), None))
        }
    }
}

/// Returns the skill called `name` whose files may be read: one that models are offered, or that a person invoked.
pub(crate) fn served<'s>(
    audience: &Audience,
    session: &Session,
    snapshot: &'s Snapshot,
    name: &str,
) -> Option<&'s Entry> {
    let entry = audience.find(snapshot, name)?;
    (entry.is_offered() || session.is_invoked(entry.name())).then_some(entry)
}

/// Published skills in order of their names.
pub(crate) struct Page {
    pub(crate) skills: Vec<std::sync::Arc<PublishedSkill>>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<String>,
}

/// Returns the page of published skills that begins at `cursor`.
pub(crate) async fn published_page(
    audience: &Audience,
    snapshot: &Snapshot,
    cursor: Option<&str>,
) -> Result<Page, ErrorData> {
    let after = cursor::parse(cursor)?;
    let rest = audience.offered(snapshot).filter(|entry| entry.name().as_str() > after.as_str());
    let rest: Vec<&Entry> = rest.collect();
    let mut rest = rest.as_slice();
    let mut page = Page { skills: Vec::with_capacity(PAGE.min(rest.len())), next: None };
    while page.skills.len() < PAGE && !rest.is_empty() {
        let (chunk, others) = rest.split_at((PAGE - page.skills.len()).min(rest.len()));
        rest = others;
        page.skills.extend(audience.published(chunk).await.into_iter().map(|(_, skill)| skill));
    }
    if !rest.is_empty() {
        page.next = page.skills.last().map(|skill| cursor::after(&skill.name));
    }
    Ok(page)
}

/// Returns the parameters that `params` hold.
pub(crate) fn params_of<T: for<'de> Deserialize<'de>>(params: Option<Value>) -> Result<T, ErrorData> {
    let params = params.unwrap_or_else(|| Value::Object(Map::new()));
    T::deserialize(params)
        .map_err(|error| ErrorData::invalid_params(format!("bad parameters: {error}"), None))
}

/// Returns the error that no skill has `uri`.
pub(crate) fn unknown(uri: &str) -> ErrorData {
    let uri = repertoire_model::text::shorten(uri, 200);
    ErrorData::invalid_params(format!("there is no skill at {uri}; skills/list has all of them"), None)
}

/// Returns why the skill at `uri` is not served.
pub(crate) fn why_not(uri: &str, reasons: &[repertoire::Diagnostic]) -> String {
    let uri = repertoire_model::text::shorten(uri, 200);
    match reasons.first() {
        Some(reason) => {
            format!(
                "the skill at {uri} is not served: {} ({}); `rep check --publish` tells more",
                reason.message, reason.rule
            )
        }
        None => format!("the skill at {uri} is gone"),
    }
}
