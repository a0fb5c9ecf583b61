//! The pages of one skill: itself, a file, and why it is offered as it is.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect};
use axum::{Extension, Form};
use repertoire_app::view::{
    DiagnosticView, ExplainedSkillView, FileView, SeeingAgentView, ServerSkillView, SkillDetailView,
    SkillTokensView, UpdateView, UsageView, VersionView,
};
use serde::Deserialize;

use super::page::{self, Page};
use super::text::{self, NumberText, TimeText};
use super::{chart, markdown, url};
use crate::api::Params;
use crate::api::explain;
use crate::api::skill::{self, FileText};
use crate::api::switch;
use crate::api::update;
use crate::api::versions::{self, VersionsQuery};
use crate::dashboard::RequestContext;

/// The number of versions on the page.
const VERSIONS: usize = 20;

/// Maximum references beside the usage; the table of files has all of them.
const REFERENCES: usize = 8;

/// The view of the instructions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ViewQuery {
    /// `raw` for the text as it is.
    view: Option<String>,
    /// The decision that led here.
    done: Option<String>,
}

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage {
    page: Page,
    skill: SkillDetailView,
    server: ServerSkillView,
    usage: UsageView,
    tokens: SkillTokensView,
    /// The instructions as HTML; `None` if they are shown as they are.
    body: Option<String>,
    versions: Vec<VersionView>,
    has_unrecorded_changes: bool,
    done: Option<String>,
    /// True if the sender may switch skills off and on.
    may_switch: bool,
}

impl SkillPage {
    fn address(&self) -> String {
        url::part(&self.skill.listed.address)
    }

    fn here(&self) -> String {
        let raw = if self.body.is_none() { "?view=raw" } else { "" };
        format!("/skills/{}{raw}", self.address())
    }

    /// Returns whether the sender may switch the skill off and on.
    fn may_switch(&self) -> bool {
        let is_switchable = matches!(self.skill.listed.state, "active" | "disabled");
        self.may_switch && is_switchable
    }

    fn references(&self) -> usize {
        self.server.files.iter().filter(|file| file.kind == "reference").count()
    }

    /// Returns the references, the most read first.
    fn read_references(&self) -> Vec<&FileView> {
        let mut files: Vec<&FileView> =
            self.server.files.iter().filter(|file| file.kind == "reference").collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.reads));
        files.truncate(REFERENCES);
        files
    }

    /// Returns the path in the skill of the file that `found` is about.
    fn file<'f>(&self, found: &'f DiagnosticView) -> &'f str {
        let path = found.path.strip_prefix(self.skill.listed.path.trim_end_matches('/'));
        path.map_or(found.path.as_str(), |path| path.trim_start_matches('/'))
    }

    /// Returns the calls beside loads in words.
    fn calls(&self) -> String {
        let usage = &self.usage;
        let count = |number: u64, one: &str, many: &str| {
            format!("{} {}", number.grouped(), if number == 1 { one } else { many })
        };
        let mut words = vec![count(usage.reads, "read of a file", "reads of files")];
        words.push(count(usage.failures, "failed call", "failed calls"));
        if usage.agents > 0 {
            words.push(count(usage.agents as u64, "named agent", "named agents"));
        }
        words.join(", ")
    }

    /// Returns the class of the state of the newest version.
    fn update_class(&self, update: &UpdateView) -> &'static str {
        match update.state.as_str() {
            "current" => "ok",
            "outdated" | "renamed" | "removed" => "warning",
            "broken" | "unreachable" => "error",
            _ => "",
        }
    }
}

pub(super) async fn get(
    Extension(ctx): Extension<RequestContext>,
    Path(name): Path<String>,
    Params(query): Params<ViewQuery>,
) -> page::PageResult {
    let mut skill = skill::detail(&ctx, &name).await?;
    let is_raw = query.view.as_deref() == Some("raw");
    let files = format!("/skills/{}/files/", url::part(&skill.listed.address));
    let body = if is_raw { None } else { markdown::render(&skill.body, &files) };
    let part = VersionsQuery { limit: Some(VERSIONS), cursor: None };
    let (versions, has_unrecorded_changes) = match versions::list(&ctx, &name, &part).await {
        Ok(list) => (list.versions, list.server.is_some_and(|server| server.has_unrecorded_changes)),
        Err(_) => (Vec::new(), false),
    };
    let page = Page::new(&ctx, "skills", skill.listed.name.clone()).await;
    let (done, may_switch) = (query.done, switch::may_switch(&ctx));
    let usage = skill.listed.usage.clone().unwrap_or_default();
    let tokens = skill.listed.tokens.unwrap_or_default();
    let server = skill.server.take().unwrap_or_default();
    page::html(&SkillPage {
        page,
        skill,
        server,
        usage,
        tokens,
        body,
        versions,
        has_unrecorded_changes,
        done,
        may_switch,
    })
}

/// Asks the source of a skill for its newest version, and leads to the page of the skill.
pub(super) async fn get_update(
    Extension(ctx): Extension<RequestContext>,
    Path(name): Path<String>,
) -> page::PageResult {
    update::update(&ctx, &name).await?;
    Ok(Redirect::to(&format!("{}#origin", url::skill(&name))).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct SwitchForm {
    csrf: String,
    on: bool,
    /// The address of the list that the form stands in; without it, the page of the skill.
    #[serde(default)]
    back: Option<String>,
}

impl SwitchForm {
    /// Returns the address of the list that the form stands in.
    fn list(&self) -> Option<&str> {
        let is_list = |back: &&str| *back == "/skills" || back.starts_with("/skills?");
        self.back.as_deref().filter(is_list).filter(|back| back.bytes().all(|byte| byte.is_ascii_graphic()))
    }
}

pub(super) async fn post_switch(
    Extension(ctx): Extension<RequestContext>,
    Path(name): Path<String>,
    Form(form): Form<SwitchForm>,
) -> page::PageResult {
    ctx.expect_write(Some(&form.csrf))?;
    let switched = switch::switch(&ctx, &name, form.on).await?;
    if let Some(list) = form.list() {
        let to = if form.on { "on" } else { "off" };
        let done = url::query(&[("switched", &switched.name), ("to", to)]);
        let done = if list.contains('?') { done.replacen('?', "&", 1) } else { done };
        return Ok(Redirect::to(&format!("{list}{done}")).into_response());
    }
    let done = if form.on { "switched on" } else { "switched off" };
    // A skill that is switched off has another address.
    let name = if form.on { name.rsplit(':').next().unwrap_or_default().to_owned() } else { name };
    Ok(Redirect::to(&format!("{}{}", url::skill(&name), url::query(&[("done", done)]))).into_response())
}

#[derive(Template)]
#[template(path = "file.html")]
struct FilePage {
    page: Page,
    name: String,
    file: FileText,
    /// The file as HTML, if it is Markdown.
    body: Option<String>,
}

pub(super) async fn get_file(
    Extension(ctx): Extension<RequestContext>,
    Path((name, path)): Path<(String, String)>,
    Params(query): Params<ViewQuery>,
) -> page::PageResult {
    let file = skill::file(&ctx, &name, &path).await?;
    let is_markdown = file.path.ends_with(".md") && query.view.as_deref() != Some("raw");
    let files = format!("/skills/{}/files/", url::part(&name));
    let text = file.text.as_deref().filter(|_| is_markdown);
    let body = text.and_then(|text| markdown::render(text, &files));
    let page = Page::new(&ctx, "skills", format!("{} in {name}", file.path)).await;
    page::html(&FilePage { page, name, file, body })
}

#[derive(Template)]
#[template(path = "explain.html")]
struct ExplainPage {
    page: Page,
    name: String,
    skill: ExplainedSkillView,
    agents: Vec<SeeingAgentView>,
}

/// Answers with the decisions about a skill.
pub(super) async fn get_explain(
    Extension(ctx): Extension<RequestContext>,
    Path(name): Path<String>,
) -> page::PageResult {
    let mut skill = explain::explain(&ctx, &name).await?;
    let agents = skill.agents.take().unwrap_or_default();
    let page = Page::new(&ctx, "skills", format!("Explain {}", skill.name)).await;
    page::html(&ExplainPage { page, name, skill, agents })
}
