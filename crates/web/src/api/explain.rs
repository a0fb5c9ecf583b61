//! `GET /api/v1/skills/{name}/explain`: every decision about a skill, and what each agent gets of it.

use repertoire::{Bind, Entry, SessionRequest};
use repertoire_app::explain::explain_one;
use repertoire_app::view::{ExplainedSkillView, ExplanationView, SeeingAgentView};

use super::error::ApiError;
use super::records::blocking;
use super::skill;
use crate::dashboard::RequestContext;

/// Returns the decisions about the skill called `name`, as a list of one.
pub(crate) async fn explanation(ctx: &RequestContext, name: String) -> Result<ExplanationView, ApiError> {
    let skill = explain(ctx, &name).await?;
    Ok(ExplanationView { name, found: true, skills: vec![skill], absence: None })
}

/// Returns the decisions about the skill called `name`.
pub(crate) async fn explain(ctx: &RequestContext, name: &str) -> Result<ExplainedSkillView, ApiError> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let entry = skill::find(ctx, &snapshot, name)?;
    let mut explained = ExplainedSkillView::new(entry);
    if let Some(workspace) = ctx.workspace() {
        let (registry, qualified) = (ctx.view.shared.registry.clone(), entry.qualified_name());
        explained = blocking(move || {
            let explained = explain_one(&workspace, &registry, &qualified);
            explained.map_err(|error| ApiError::internal(error.message_with_causes()))
        })
        .await?;
    }
    let mut agents = Vec::new();
    if ctx.sees_all() {
        for agent in ctx.view.shared.library.agents() {
            let sees = entry.state.is_reachable() && entry.allows_models() && agent.sees(entry);
            let options = match ctx
                .view
                .shared
                .library
                .open_session(&SessionRequest::of(&agent.name).without_reload())
                .await
            {
                Ok(session) => Some(session.catalog_options()),
                Err(_) => None,
            };
            let shown = options.filter(|_| sees).and_then(|options| {
                let catalog = snapshot.catalog_for(agent, &options).ok()?;
                let mut tiers = catalog.report.tiers.into_iter();
                tiers.find(|tier| tier.name == entry.name().as_str()).map(|tier| tier.tier.as_str())
            });
            agents.push(SeeingAgentView {
                agent: agent.name.clone(),
                sees,
                reason: reason(agent, entry),
                shown,
            });
        }
    }
    explained.agents = Some(agents);
    Ok(explained)
}

fn reason(agent: &repertoire::Agent, entry: &Entry) -> String {
    let text = if !entry.state.is_reachable() {
        return format!("it is {}, so no agent gets it", entry.state.as_str());
    } else if !entry.allows_models() {
        "its author keeps it for people"
    } else {
        match agent.bound(entry) {
            Some(Bind::Hidden) => "it is bound as hidden",
            Some(_) => "it is bound to the agent",
            None if !agent.sees(entry) => "it is outside the scope of the agent",
            None => "it is within the scope of the agent",
        }
    };
    text.to_owned()
}
