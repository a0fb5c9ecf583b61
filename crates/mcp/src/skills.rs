//! Methods and wire types of the Skills extension, `io.modelcontextprotocol/skills`, which rmcp 3.8 lacks.

use repertoire::event::Via;
use repertoire::serve::{AgentView, Principal, PublishResult, PublishedSkill, RequestRecord};
use repertoire::{Entry, EventKind, Outcome, Session, Snapshot};
use repertoire_model::BundleFile;
use rmcp::ErrorData;
use rmcp::model::{ExtensionCapabilities, JsonObject, MetaObject};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::cursor::{self, PAGE};
use super::uri::{SkillUri, skill_uri};

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The `_meta` key of the source of a skill.
const SOURCE: &str = "io.github.repertoire-rs/source";
pub(crate) const LIST: &str = "skills/list";
pub(crate) const GET: &str = "skills/get";
/// Lists a directory of a skill.
pub(crate) const READ_DIRECTORY: &str = "resources/directory/read";

pub(crate) const METHODS: [&str; 3] = [LIST, GET, READ_DIRECTORY];

pub(crate) fn capability() -> ExtensionCapabilities {
    let settings = JsonObject::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
    ExtensionCapabilities::from([(EXTENSION.to_owned(), settings)])
}

#[derive(Debug, Default, Deserialize)]
struct ListParams {
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
struct GetParams {
    uri: String,
}

/// The parameters of `resources/directory/read`.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectoryParams {
    pub(crate) uri: String,
    pub(crate) cursor: Option<String>,
}

/// Returns a skill as clients read it.
fn skill_json(skill: &PublishedSkill) -> Value {
    let resource = |file: &BundleFile| {
        let uri = skill_uri(&skill.name, file.path.as_str());
        json!({"uri": uri, "digest": file.digest.to_string(), "size": file.size})
    };
    json!({
        "uri": skill_uri(&skill.name, "SKILL.md"),
        "frontmatter": skill.frontmatter,
        "resources": skill.bundle.files().iter().map(resource).collect::<Value>(),
        "_meta": source_meta(skill).0,
    })
}

/// Returns the `_meta` of a skill and of its files: the source of the skill.
pub(crate) fn source_meta(skill: &PublishedSkill) -> MetaObject {
    MetaObject(Map::from_iter([(SOURCE.to_owned(), Value::from(skill.source.as_str()))]))
}

pub(crate) async fn list(view: &AgentView, params: Option<Value>) -> Result<Map<String, Value>, ErrorData> {
    let ListParams { cursor } = params_of(params)?;
    let snapshot = view.shared.registry.newest().await;
    let page = published_page(view, &snapshot, cursor.as_deref()).await?;
    let skills = page.skills.iter().map(|skill| skill_json(skill)).collect();
    let mut result = Map::from_iter([("skills".to_owned(), skills)]);
    result.extend(page.next.map(|next| ("nextCursor".to_owned(), json!(next))));
    Ok(result)
}

pub(crate) async fn get(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    params: Option<Value>,
) -> Result<Map<String, Value>, ErrorData> {
    let GetParams { uri } = params_of(params)?;
    let mut record =
        RequestRecord::new(session, EventKind::FilesListed, GET, &principal.origin(Via::Resource));
    let result = described(view, session, &uri, &mut record).await;
    record.emit();
    result
}

/// Returns the skill at `uri`: its frontmatter and the list of its files.
async fn described(
    view: &AgentView,
    session: &Session,
    uri: &str,
    record: &mut RequestRecord<'_>,
) -> Result<Map<String, Value>, ErrorData> {
    let name = SkillUri::parse(uri)
        .filter(|parsed| parsed.path.as_ref().is_some_and(|path| path.as_str() == "SKILL.md"))
        .map(|parsed| parsed.name)
        .ok_or_else(|| unknown(uri))?;
    record.asked(name.as_str(), None);
    let snapshot = view.shared.registry.newest().await;
    record.unseen(&snapshot, name.as_str());
    let entry = find_readable(view, session, &snapshot, name.as_str()).ok_or_else(|| unknown(uri))?;
    record.found(entry);
    match view.publish(entry).await {
        PublishResult::Published(skill) => {
            let described = skill_json(&skill);
            record.listed(Some(skill.digest), &described);
            Ok(Map::from_iter([("skill".to_owned(), described)]))
        }
        PublishResult::Withheld(reasons) => {
            record.failed(Outcome::Error, "withheld");
            Err(ErrorData::invalid_params(withheld_message(uri, &reasons), None))
        }
    }
}

/// Returns the skill called `name` if models are offered it or a person has invoked it.
pub(crate) fn find_readable<'s>(
    view: &AgentView,
    session: &Session,
    snapshot: &'s Snapshot,
    name: &str,
) -> Option<&'s Entry> {
    let entry = view.find(snapshot, name)?;
    (entry.allows_models() || session.lookup().is_invoked(entry.name())).then_some(entry)
}

/// One page of published skills, sorted by name.
pub(crate) struct SkillPage {
    pub(crate) skills: Vec<std::sync::Arc<PublishedSkill>>,
    pub(crate) next: Option<String>,
}

pub(crate) async fn published_page(
    view: &AgentView,
    snapshot: &Snapshot,
    cursor: Option<&str>,
) -> Result<SkillPage, ErrorData> {
    let after = cursor::parse(cursor)?;
    let rest = view.offered(snapshot).filter(|entry| entry.name().as_str() > after.as_str());
    let rest: Vec<&Entry> = rest.collect();
    let mut rest = rest.as_slice();
    let mut page = SkillPage { skills: Vec::with_capacity(PAGE.min(rest.len())), next: None };
    while page.skills.len() < PAGE && !rest.is_empty() {
        let (chunk, others) = rest.split_at((PAGE - page.skills.len()).min(rest.len()));
        rest = others;
        page.skills.extend(view.publish_all(chunk).await.into_iter().map(|(_, skill)| skill));
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

pub(crate) fn unknown(uri: &str) -> ErrorData {
    let uri = repertoire_model::text::shorten(uri, 200);
    ErrorData::invalid_params(format!("there is no skill at {uri}; skills/list has all of them"), None)
}

pub(crate) fn withheld_message(uri: &str, reasons: &[repertoire::Diagnostic]) -> String {
    let uri = repertoire_model::text::shorten(uri, 200);
    match reasons.first() {
        Some(reason) => {
            format!("the skill at {uri} is not served: {} ({})", reason.message, reason.rule)
        }
        None => format!("the skill at {uri} is gone"),
    }
}
