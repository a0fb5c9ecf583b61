//! Files of skills as resources: only bytes that clients were told of.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use repertoire::{Entry, ErrorKind, LineRange, Session, SkillPath};
use repertoire_model::{BundleFile, Digest};
use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Map, Value, json};

use super::cursor::{self, PAGE};
use super::media_type;
use super::skills::{self, DirectoryParams, params_of, published_page, served, why_not};
use super::uri::{SkillUri, skill_uri};
use crate::audience::Audience;
use crate::shelf::{PublishedSkill, Standing};

/// Where FastMCP's own functions for skills look for the files of one. It is on no list, and a file of this name comes first.
const FASTMCP_MANIFEST: &str = "_manifest";

/// Returns the template of all resources.
pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new("skill://{+path}", "skill-file").with_description(
        "A file of a skill: the skill's name, then the path of the file, as in skill://NAME/SKILL.md",
    )
}

/// Returns the `SKILL.md` files of the page that begins at `cursor`.
pub(crate) async fn list(
    audience: &Audience,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let snapshot = audience.shared.registry.newest().await;
    let page = published_page(audience, &snapshot, cursor).await?;
    let manifests =
        page.skills.iter().filter_map(|skill| skill.file("SKILL.md").map(|file| resource(skill, file)));
    let mut result = ListResourcesResult::with_all_items(manifests.collect());
    result.next_cursor = page.next;
    Ok(result)
}

/// Returns a file as it is listed.
fn resource(skill: &PublishedSkill, file: &BundleFile) -> Resource {
    let path = file.path.as_str();
    let is_manifest = path == "SKILL.md";
    let name = if is_manifest { skill.name.as_str() } else { file.path.file_name() };
    let mut resource = Resource::new(skill_uri(&skill.name, path), name).with_size(file.size);
    resource.mime_type = media_type::by_name(path).map(str::to_owned);
    if is_manifest {
        resource.description = Some(skill.description.clone());
    }
    resource
}

/// Returns the bytes of a file: those that its digest names, or none.
pub(crate) async fn read(
    audience: &Audience,
    session: &Session,
    uri: &str,
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
    let _turn = audience.calls.acquire().await;
    let shelf = &audience.shared.shelf;
    let registry = &audience.shared.registry;
    let mut snapshot = registry.touch().await;
    if served(audience, session, &snapshot, name.as_str()).is_none() {
        snapshot = registry.reload_if_due().await;
    }
    let entry = served(audience, session, &snapshot, name.as_str()).ok_or_else(not_found)?;
    let mut standing = shelf.known(entry).await;
    let has_file = |standing: &Standing| matches!(standing, Standing::Published(skill) if skill.file(path.as_str()).is_some());
    if !has_file(&standing) {
        // It may have come since the skill was worked out.
        standing = audience.current(entry).await;
    }
    let skill = match &standing {
        Standing::Published(skill) => skill,
        Standing::Withheld(withheld) if withheld.reasons.is_empty() => return Err(not_found()),
        Standing::Withheld(withheld) => {
            return Err(ErrorData::resource_not_found(
                why_not(uri, &withheld.reasons),
                Some(json!({"uri": uri})),
            ));
        }
    };
    let Some(file) = skill.file(path.as_str()) else {
        return match path.as_str() {
            FASTMCP_MANIFEST => Ok(ReadResourceResult::new(vec![fastmcp_manifest(uri, skill)])),
            _ => Err(not_found()),
        };
    };
    let bytes = registry.read(entry, &path, LineRange::default()).await.map(|content| content.bytes);
    match bytes {
        Ok(bytes) if Digest::of(&bytes) == file.digest => {
            Ok(ReadResourceResult::new(vec![contents(uri, path.as_str(), bytes)]))
        }
        // Clients were told of other bytes. From now on they are told of these.
        _ => {
            audience.renew(entry).await;
            Err(ErrorData::internal_error(
                "the file changed since the skill was listed; ask skills/get or skills/list again, then read it",
                Some(json!({"uri": uri})),
            ))
        }
    }
}

/// Returns the files of a skill as FastMCP's `download_skill` and `sync_skills` want them.
fn fastmcp_manifest(uri: &str, skill: &PublishedSkill) -> ResourceContents {
    let file = |file: &BundleFile| json!({"path": file.path.as_str(), "size": file.size, "hash": file.digest.to_string()});
    let files: Vec<Value> = skill.bundle.files().iter().map(file).collect();
    let text = json!({"skill": skill.name, "files": files}).to_string();
    ResourceContents::text(text, uri).with_mime_type("application/json")
}

fn contents(uri: &str, path: &str, bytes: Vec<u8>) -> ResourceContents {
    let mime_type = media_type::of(path, &bytes);
    let contents = match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri),
    };
    contents.with_mime_type(mime_type)
}

/// Answers `resources/directory/read`: what stands directly in a directory of a skill.
pub(crate) async fn read_directory(
    audience: &Audience,
    session: &Session,
    params: Option<Value>,
) -> Result<Map<String, Value>, ErrorData> {
    let DirectoryParams { uri, cursor } = params_of(params)?;
    let no_directory = || {
        let uri = repertoire_model::text::shorten(&uri, 200);
        ErrorData::invalid_params(format!("{uri} is no directory of a skill"), None)
    };
    let SkillUri { name, path } = SkillUri::parse(&uri).ok_or_else(no_directory)?;
    let after = cursor::parse(cursor.as_deref())?;
    let snapshot = audience.shared.registry.newest().await;
    let entry = served(audience, session, &snapshot, name.as_str()).ok_or_else(|| skills::unknown(&uri))?;
    let skill = match audience.current(entry).await {
        Standing::Published(skill) => skill,
        Standing::Withheld(withheld) => {
            return Err(ErrorData::invalid_params(why_not(&uri, &withheld.reasons), None));
        }
    };
    let children = match (children(&skill, path.as_ref().map(SkillPath::as_str)), &path) {
        (Some(children), _) => children,
        (None, Some(path)) if is_empty_directory(audience, entry, &skill, path).await => BTreeMap::new(),
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
    let mut result = Map::from_iter([("resources".to_owned(), Value::Array(resources))]);
    result.extend(next.map(|next| ("nextCursor".to_owned(), Value::String(next))));
    Ok(result)
}

/// Returns whether `path`, which no file of the skill lies below, is a directory nevertheless. Whoever wants to read it as a
/// file is told so.
async fn is_empty_directory(
    audience: &Audience,
    entry: &Entry,
    skill: &PublishedSkill,
    path: &SkillPath,
) -> bool {
    let read = match skill.file(path.as_str()) {
        Some(_) => return false,
        None => audience.shared.registry.read(entry, path, LineRange::default()).await,
    };
    read.is_err_and(|error| error.kind() == ErrorKind::IsDirectory)
}

/// Returns what stands directly in `directory`, sorted by name; none where there is no such directory.
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
