//! Files of published skills as resources.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use repertoire::event::Via;
use repertoire::serve::{
    AgentView, OVERLOADED, Principal, PublishResult, PublishedSkill, RequestRecord, media_type,
};
use repertoire::{Entry, ErrorKind, EventKind, LineRange, Outcome, Session, SkillPath};
use repertoire_model::{BundleFile, Digest};
use rmcp::ErrorData;
use rmcp::model::{
    ConstString as _, ListResourcesResult, ReadResourceRequestMethod, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Map, Value, json};

use super::cursor::{self, PAGE};
use super::skills::{
    self, DirectoryParams, find_readable, params_of, published_page, source_meta, withheld_message,
};
use super::uri::{SkillUri, skill_uri};

/// The unlisted resource that FastMCP asks for the files of a skill. A file of this name has precedence.
const FASTMCP_MANIFEST: &str = "_manifest";

/// Returns the template that all resource URIs match.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("skill://{+path}", "skill-file").with_description(
        "A file of a skill: the skill's name, then the path of the file, as in skill://NAME/SKILL.md",
    )
}

/// Returns the `SKILL.md` files of the page that begins at `cursor`.
pub(crate) async fn list(view: &AgentView, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let snapshot = view.shared.registry.newest().await;
    let page = published_page(view, &snapshot, cursor).await?;
    let manifests =
        page.skills.iter().filter_map(|skill| skill.file("SKILL.md").map(|file| resource(skill, file)));
    let mut result = ListResourcesResult::with_all_items(manifests.collect());
    result.next_cursor = page.next;
    Ok(result)
}

/// Returns the list entry of a file.
fn resource(skill: &PublishedSkill, file: &BundleFile) -> Resource {
    let path = file.path.as_str();
    let is_manifest = path == "SKILL.md";
    let name = if is_manifest { skill.name.as_str() } else { file.path.file_name() };
    let mut resource = Resource::new(skill_uri(&skill.name, path), name).with_size(file.size);
    resource.meta = Some(source_meta(skill));
    resource.mime_type = media_type::by_name(path).map(str::to_owned);
    if is_manifest {
        resource.description = Some(skill.description.clone());
    }
    resource
}

/// Fails if there is no room for a response of so many bytes.
type ExpectRoom<'a> = dyn Fn(u64) -> Result<(), ErrorData> + Sync + 'a;

/// Returns a file, or an error if its bytes do not have the published digest.
pub(crate) async fn read(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    uri: &str,
    room: &ExpectRoom<'_>,
) -> Result<ReadResourceResult, ErrorData> {
    let origin = principal.origin(Via::Resource);
    let mut record =
        RequestRecord::new(session, EventKind::FileRead, ReadResourceRequestMethod::VALUE, &origin);
    let result = read_file(view, session, uri, room, &mut record).await;
    record.emit();
    result
}

async fn read_file(
    view: &AgentView,
    session: &Session,
    uri: &str,
    room: &ExpectRoom<'_>,
    record: &mut RequestRecord<'_>,
) -> Result<ReadResourceResult, ErrorData> {
    let not_found = || {
        let uri = repertoire_model::text::shorten(uri, 200);
        let data = json!({"uri": uri});
        ErrorData::resource_not_found(
            format!("there is no resource {uri}; resources/list has every SKILL.md"),
            Some(data),
        )
    };
    let Some(SkillUri { name, path: Some(path) }) = SkillUri::parse(uri) else { return Err(not_found()) };
    record.asked(name.as_str(), Some(path.as_str()));
    let _permit = view.calls.acquire().await;
    let published = &view.shared.published;
    let registry = &view.shared.registry;
    let mut snapshot = registry.touch().await;
    if find_readable(view, session, &snapshot, name.as_str()).is_none() {
        snapshot = registry.reload_if_due().await;
    }
    record.unseen(&snapshot, name.as_str());
    let entry = find_readable(view, session, &snapshot, name.as_str()).ok_or_else(not_found)?;
    record.failed(Outcome::NotFound, "no_file");
    record.found(entry);
    let mut result = published.known(entry).await;
    if !matches!(&result, PublishResult::Published(skill) if skill.file(path.as_str()).is_some()) {
        // The file may be newer than the published skill.
        result = view.publish(entry).await;
    }
    let skill = match &result {
        PublishResult::Published(skill) => skill,
        PublishResult::Withheld(reasons) if reasons.is_empty() => return Err(not_found()),
        PublishResult::Withheld(reasons) => {
            record.failed(Outcome::Error, "withheld");
            return Err(ErrorData::resource_not_found(
                withheld_message(uri, reasons),
                Some(json!({"uri": uri})),
            ));
        }
    };
    let Some(file) = skill.file(path.as_str()) else {
        return match path.as_str() {
            FASTMCP_MANIFEST => {
                record.set(|event| (event.kind, event.file) = (EventKind::FilesListed, None));
                let list = fastmcp_manifest(skill);
                record.listed(None, &list);
                let contents = ResourceContents::text(list.to_string(), uri);
                Ok(ReadResourceResult::new(vec![contents.with_mime_type("application/json")]))
            }
            _ => Err(not_found()),
        };
    };
    record.failed(Outcome::Error, OVERLOADED);
    room(file.size)?;
    let bytes = registry.read(entry, &path, LineRange::default()).await.map(|content| content.bytes);
    match bytes {
        Ok(bytes) if Digest::of(&bytes) == file.digest => {
            record.served(Some(file.digest), &bytes);
            let contents = contents(uri, path.as_str(), bytes).with_meta(source_meta(skill));
            Ok(ReadResourceResult::new(vec![contents]))
        }
        // The published digest is stale.
        _ => {
            record.failed(Outcome::Error, "changed");
            published.renew(entry).await;
            Err(ErrorData::internal_error(
                "the file changed since the skill was listed; ask skills/get or skills/list again, then read it",
                Some(json!({"uri": uri})),
            ))
        }
    }
}

/// Returns the list of files that FastMCP's `download_skill` and `sync_skills` expect.
fn fastmcp_manifest(skill: &PublishedSkill) -> Value {
    let file = |file: &BundleFile| json!({"path": file.path.as_str(), "size": file.size, "hash": file.digest.to_string()});
    let files: Vec<Value> = skill.bundle.files().iter().map(file).collect();
    json!({"skill": skill.name, "files": files})
}

fn contents(uri: &str, path: &str, bytes: Vec<u8>) -> ResourceContents {
    let mime_type = media_type::of(path, &bytes);
    let contents = match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri),
    };
    contents.with_mime_type(mime_type)
}

/// Answers `resources/directory/read` with the files and directories directly in a directory of a skill.
pub(crate) async fn read_directory(
    view: &AgentView,
    session: &Session,
    principal: &Principal,
    params: Option<Value>,
) -> Result<Map<String, Value>, ErrorData> {
    let params = params_of(params)?;
    let origin = principal.origin(Via::Resource);
    let mut record = RequestRecord::new(session, EventKind::FilesListed, skills::READ_DIRECTORY, &origin);
    let result = list_directory(view, session, params, &mut record).await;
    record.emit();
    result
}

async fn list_directory(
    view: &AgentView,
    session: &Session,
    DirectoryParams { uri, cursor }: DirectoryParams,
    record: &mut RequestRecord<'_>,
) -> Result<Map<String, Value>, ErrorData> {
    let no_directory = || {
        let uri = repertoire_model::text::shorten(&uri, 200);
        ErrorData::invalid_params(format!("{uri} is not a directory of a skill"), None)
    };
    let SkillUri { name, path } = SkillUri::parse(&uri).ok_or_else(no_directory)?;
    record.asked(name.as_str(), path.as_ref().map(SkillPath::as_str));
    let after =
        cursor::parse(cursor.as_deref()).inspect_err(|_| record.failed(Outcome::Invalid, "bad_argument"))?;
    let snapshot = view.shared.registry.newest().await;
    record.unseen(&snapshot, name.as_str());
    let entry =
        find_readable(view, session, &snapshot, name.as_str()).ok_or_else(|| skills::unknown(&uri))?;
    record.found(entry);
    record.failed(Outcome::NotFound, "no_directory");
    let skill = match view.publish(entry).await {
        PublishResult::Published(skill) => skill,
        PublishResult::Withheld(reasons) => {
            record.failed(Outcome::Error, "withheld");
            return Err(ErrorData::invalid_params(withheld_message(&uri, &reasons), None));
        }
    };
    let children = match (children(&skill, path.as_ref().map(SkillPath::as_str)), &path) {
        (Some(children), _) => children,
        (None, Some(path)) if is_empty_directory(view, entry, &skill, path).await => BTreeMap::new(),
        (None, _) => return Err(no_directory()),
    };
    let mut rest = children.into_iter().filter(|(child, _)| child.as_str() > after.as_str()).peekable();
    let (mut resources, mut last) = (Vec::new(), None);
    for (child, resource) in rest.by_ref().take(PAGE) {
        resources.push(
            serde_json::to_value(resource)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
        );
        last = Some(child);
    }
    let next = rest.peek().and(last).map(|last| cursor::after(&last));
    let resources = Value::Array(resources);
    record.listed(None, &resources);
    let mut result = Map::from_iter([("resources".to_owned(), resources)]);
    result.extend(next.map(|next| ("nextCursor".to_owned(), Value::String(next))));
    Ok(result)
}

/// Returns whether `path` is a directory without files of the skill. Reading one fails with its own error.
async fn is_empty_directory(
    view: &AgentView,
    entry: &Entry,
    skill: &PublishedSkill,
    path: &SkillPath,
) -> bool {
    let read = match skill.file(path.as_str()) {
        Some(_) => return false,
        None => view.shared.registry.read(entry, path, LineRange::default()).await,
    };
    read.is_err_and(|error| error.kind() == ErrorKind::IsDirectory)
}

/// Returns the files and directories directly in `directory` by name, or none if there is no such directory.
fn children(skill: &PublishedSkill, directory: Option<&str>) -> Option<BTreeMap<String, Resource>> {
    let prefix = directory.map(|directory| format!("{directory}/")).unwrap_or_default();
    let mut children = BTreeMap::new();
    for file in skill.bundle.files() {
        let Some(rest) = file.path.as_str().strip_prefix(&prefix) else { continue };
        match rest.split_once('/') {
            None => {
                children.insert(rest.to_owned(), resource(skill, file));
            }
            Some((name, _)) if !children.contains_key(name) => {
                let uri = match directory {
                    Some(directory) => skill_uri(&skill.name, &format!("{directory}/{name}")),
                    None => skill_uri(&skill.name, name),
                };
                children
                    .insert(name.to_owned(), Resource::new(uri, name).with_mime_type(media_type::DIRECTORY));
            }
            Some(_) => {}
        }
    }
    (!children.is_empty()).then_some(children)
}
