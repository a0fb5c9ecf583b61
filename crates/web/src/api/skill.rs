//! `GET /api/v1/skills/{name}`: everything about one skill.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use repertoire::event::jsonl::rfc3339;
use repertoire::provider::content::media_type;
use repertoire::usage::SkillUsage;
use repertoire::{Diagnostic, Entry, LineRange, SkillPath, Snapshot, State};
use repertoire_app::approvals::state_of;
use repertoire_app::origin::compared_origins;
use repertoire_app::view::{
    CatalogLineView, DiagnosticView, FileView, NamesakeView, OriginView, ServerSkillView, SkillDetailView,
    SkillToolView, UpdateView,
};
use repertoire_model::catalog::Format;
use repertoire_model::tokens::approximate;
use repertoire_model::toolbox::Toolbox;
use repertoire_model::{Digest, FileEntry, RuleId};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::ApiError;
use super::records::blocking;
use super::skills::{Facts, NAMING_OTHERS};
use crate::dashboard::{KnownUpdate, RequestContext};

const MAX_TEXT_BYTES: u64 = 1024 * 1024;

impl From<KnownUpdate> for UpdateView {
    fn from(known: KnownUpdate) -> Self {
        Self {
            state: known.newest.as_ref().map_or("untracked", |(state, _)| state).to_owned(),
            newest: known.newest.and_then(|(_, detail)| detail),
            time: rfc3339(known.time),
        }
    }
}

/// The content of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct FileText {
    /// The path in the skill.
    pub(crate) path: String,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The media type.
    pub(crate) media_type: String,
    /// The text; absent for a file that is not text.
    pub(crate) text: Option<String>,
}

/// Returns the skill called `name` if there is one that the sender may see.
pub(crate) fn look_up<'s>(ctx: &RequestContext, snapshot: &'s Snapshot, name: &str) -> Option<&'s Entry> {
    if ctx.sees_all() { snapshot.find_known(name) } else { ctx.view.find(snapshot, name) }
}

/// Returns the skill called `name`, or the error of a skill that the sender does not see, which is recorded.
pub(crate) fn find<'s>(
    ctx: &RequestContext,
    snapshot: &'s Snapshot,
    name: &str,
) -> Result<&'s Entry, ApiError> {
    let found = look_up(ctx, snapshot, name);
    if found.is_none() {
        ctx.record_unseen(name, ctx.view.hides(snapshot, name));
    }
    found.ok_or_else(|| ApiError::not_found(format!("there is no skill `{name}`")))
}

/// Returns everything about the skill called `name`.
pub(crate) async fn detail(ctx: &RequestContext, name: &str) -> Result<SkillDetailView, ApiError> {
    let registry = &ctx.view.shared.registry;
    let snapshot = registry.snapshot();
    let entry = find(ctx, &snapshot, name)?;
    let facts = Facts::of_skill(ctx, &snapshot, entry).await?;
    let usage = facts.counts(entry);
    let read = registry.get(entry).await;
    let listed = registry.files(entry).await.map(|listing| listing.files).unwrap_or_default();
    let mut view = SkillDetailView::new(entry, read.as_ref().ok(), &listed, registry.policy());
    let (text, unreadable) = match read {
        Ok(skill) => (skill.text.clone(), None),
        Err(error) => (String::new(), Some(error.chain())),
    };
    let mut found = registry.check(entry).await;
    if !ctx.sees_all() {
        found.retain(|found| !NAMING_OTHERS.contains(&found.rule));
        found.iter_mut().filter(|found| found.rule == RuleId::LinkEscape).for_each(|found| found.help = None);
    }
    let toolbox = registry.toolbox(entry).await;
    let digest = registry.digest(entry).await.ok();
    let (origins, approval) = surroundings(ctx, entry, digest, toolbox.clone()).await?;
    let namesakes = snapshot
        .named(entry.name().as_str())
        .iter()
        .filter(|other| !std::ptr::eq(*other, entry) && (ctx.sees_all() || ctx.view.sees(other)));
    view.listed = facts.view(ctx, &snapshot, entry);
    view.listed.digest = Some(digest.map(|digest| digest.to_string()));
    let tokens = approximate(&view.body) as u64;
    view.listed.tokens.iter_mut().for_each(|counted| counted.body = Some(tokens));
    view.listed.origins = Some(origins);
    view.listed.diagnostics = diagnostics(ctx, entry, &text, &found).await;
    view.server = Some(ServerSkillView {
        text,
        unreadable,
        files: files(ctx, entry, &listed, usage).await,
        tools: toolbox.tools.into_iter().map(SkillToolView::new).collect(),
        approval,
        catalog_lines: catalog_lines(ctx, entry),
        update: known_update(ctx, entry),
        also: entry.also.iter().map(|route| route.path.to_string()).collect(),
        namesakes: namesakes.map(NamesakeView::new).collect(),
        still_read: still_read(ctx, &snapshot, entry).await?,
    });
    Ok(view)
}

/// Returns a sentence about each client that reads `entry`, or another skill of its name, from files although
/// it is disabled; none where it is not, and for senders that see a part of the library.
pub(crate) async fn still_read(
    ctx: &RequestContext,
    snapshot: &Snapshot,
    entry: &Entry,
) -> Result<Vec<String>, ApiError> {
    let workspace = ctx.workspace().filter(|_| entry.state == State::Disabled);
    let Some(workspace) = workspace else { return Ok(Vec::new()) };
    // Skills are switched by their name.
    let named = snapshot.named(entry.name().as_str()).iter();
    let disabled: Vec<Entry> = named.filter(|entry| entry.state == State::Disabled).cloned().collect();
    let sentences: BTreeSet<String> = blocking(move || {
        Ok(disabled.iter().flat_map(|entry| repertoire_app::switch::still_read(&workspace, entry)).collect())
    })
    .await?;
    Ok(sentences.into_iter().collect())
}

/// Returns the newest version of `entry` in its source, if the source was asked.
fn known_update(ctx: &RequestContext, entry: &Entry) -> Option<UpdateView> {
    let known = ctx.server.dashboard.update(&entry.qualified_name()).filter(|_| ctx.sees_all())?;
    Some(UpdateView::from(known))
}

/// Returns the records of installers about `entry`, and the state of its approval.
async fn surroundings(
    ctx: &RequestContext,
    entry: &Entry,
    digest: Option<Digest>,
    toolbox: Toolbox,
) -> Result<(Vec<OriginView>, Option<String>), ApiError> {
    let Some(workspace) = ctx.options().workspace.clone() else { return Ok((Vec::new(), None)) };
    let entry = entry.clone();
    blocking(move || {
        let (places, _) = workspace.places(&workspace.settings.policy);
        let compared = compared_origins(&workspace.origins_around(&places), &entry);
        let digest = digest.filter(|_| !toolbox.tools.is_empty());
        let approval = digest.and_then(|digest| state_of(&workspace, &entry, &digest, &toolbox));
        Ok((compared.iter().map(OriginView::new).collect(), approval))
    })
    .await
}

async fn files(
    ctx: &RequestContext,
    entry: &Entry,
    listed: &[FileEntry],
    usage: Option<&SkillUsage>,
) -> Vec<FileView> {
    let registry = &ctx.view.shared.registry;
    let digests: HashMap<String, String> = match registry.bundle(entry).await {
        Ok(bundle) => {
            bundle.files().iter().map(|file| (file.path.to_string(), file.digest.to_string())).collect()
        }
        Err(_) => HashMap::new(),
    };
    let view = |file: &FileEntry| {
        let path = file.path.to_string();
        let used = usage.and_then(|usage| usage.files.iter().find(|used| used.path == path));
        let mut view = FileView::new(file);
        view.digest = digests.get(&path).cloned();
        view.reads = Some(used.map_or(0, |used| used.reads));
        view.last_use = used.and_then(|used| used.last_use).map(rfc3339);
        view
    };
    listed.iter().map(view).collect()
}

/// Returns the findings about `entry`, with the lines that they are about.
async fn diagnostics(
    ctx: &RequestContext,
    entry: &Entry,
    text: &str,
    found: &[Diagnostic],
) -> Vec<DiagnosticView> {
    let others: BTreeSet<&str> = found.iter().filter_map(|found| found.file.as_deref()).collect();
    let mut texts: HashMap<&str, String> = HashMap::new();
    for file in others {
        let Ok(path) = SkillPath::new(file) else { continue };
        let content = ctx.view.shared.registry.read_in_force(entry, &path, LineRange::default()).await;
        if let Ok(content) = content
            && let Some(text) = content.text()
        {
            texts.insert(file, text.to_owned());
        }
    }
    let view = |found: &Diagnostic| {
        let text = found.file.as_deref().map_or(Some(text), |file| texts.get(file).map(String::as_str));
        let line = found.line();
        let source =
            line.zip(text).and_then(|(line, text)| text.lines().nth((line as usize).saturating_sub(1)));
        let mut view = DiagnosticView::of_skill(entry, found);
        view.help.clone_from(&found.help);
        view.source_line = source.map(|line| line.chars().take(200).collect());
        view
    };
    let mut rows: Vec<&Diagnostic> = found.iter().collect();
    rows.sort_by_key(|found| std::cmp::Reverse(found.severity));
    rows.into_iter().map(view).collect()
}

/// Returns the entry of `entry` in a catalog, in each format.
fn catalog_lines(ctx: &RequestContext, entry: &Entry) -> Vec<CatalogLineView> {
    if !entry.is_offered() {
        return Vec::new();
    }
    let base = ctx.view.shared.library.catalog_options();
    let lines = Format::ALL.into_iter().filter_map(|format| {
        let mut options = base.clone();
        (options.format, options.usage) = (format, false);
        (options.budget_tokens, options.highlight, options.ranking) = (None, None, None);
        let catalog = entry.catalog(&options).ok()?;
        Some(CatalogLineView { format: format.as_str(), text: entry_text(&catalog.text, entry) })
    });
    lines.collect()
}

/// Returns the part of a catalog of one skill that is its entry: the block of its own, or else the line with
/// its name and the beginning of its description.
fn entry_text(catalog: &str, entry: &Entry) -> String {
    let name = entry.name().as_str();
    let word = entry.document.description.split_whitespace().next().unwrap_or_default();
    let block = catalog.find("<skill>\n").and_then(|start| {
        let end = catalog[start..].find("</skill>")?;
        Some(&catalog[start..start + end + "</skill>".len()])
    });
    let line = || catalog.lines().rfind(|line| line.contains(name) && line.contains(word));
    block.or_else(line).unwrap_or(catalog).to_owned()
}

pub(crate) async fn file(ctx: &RequestContext, name: &str, path: &str) -> Result<FileText, ApiError> {
    let registry = &ctx.view.shared.registry;
    let snapshot: Arc<Snapshot> = registry.snapshot();
    let entry = find(ctx, &snapshot, name)?;
    let path = SkillPath::new(path)
        .map_err(|fault| ApiError::not_found(format!("`{name}` has no such file: {fault}")))?;
    let files = registry.files(entry).await?.files;
    let listed = files.iter().find(|file| file.path == path);
    let Some(listed) = listed else {
        return Err(ApiError::not_found(format!("`{name}` has no file `{path}`")));
    };
    if listed.size.is_some_and(|size| size > MAX_TEXT_BYTES) {
        return Err(ApiError::conflict(
            "too_large",
            format!("`{path}` is larger than {MAX_TEXT_BYTES} bytes"),
        ));
    }
    let content = registry.read_in_force(entry, &path, LineRange::default()).await?;
    Ok(FileText {
        media_type: media_type(path.as_str(), &content.bytes).to_owned(),
        path: path.to_string(),
        size: content.size,
        text: content.text().map(str::to_owned),
    })
}
