//! `GET /api/v1/skills`: the skills, filtered and searched.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use repertoire::usage::{SkillUsage, loads_per_day};
use repertoire::{Entry, SearchRequest, Severity, Snapshot, State, Visibility};
use repertoire_app::view::{SkillTokensView, SkillView, UsageView};
use repertoire_model::RuleId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalog::named_agent;
use super::error::ApiError;
use super::records;
use super::request::part;
use crate::dashboard::{EntryTokenCounts, RequestContext, UsageCounts};

const PAGE: usize = 50;

/// Maximum skills that a search finds.
const MAX_FOUND: usize = 200;

/// The days that usage is counted for.
pub(crate) const USAGE_DAYS: u64 = 30;

/// Maximum characters of a search.
const MAX_QUERY_CHARS: usize = 1_000;

/// The filters of a list of skills.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct SkillsQuery {
    /// Only skills that this text is about, best first.
    #[schemars(extend("maxLength" = 1000))]
    pub(crate) q: Option<String>,
    /// Only skills of this source.
    pub(crate) source: Option<String>,
    /// Only skills with this tag.
    pub(crate) tag: Option<String>,
    /// Only skills in this state: `active`, `shadowed`, `disabled` or `quarantined`; `problems` for those
    /// with errors or warnings.
    pub(crate) state: Option<String>,
    /// Only skills that this agent of the configuration sees.
    pub(crate) agent: Option<String>,
    /// The order: `name`, `loads`, `tokens` or `last_use`. Without it, problems are sorted by their gravity.
    #[schemars(extend("enum" = ["", "name", "loads", "tokens", "last_use"]))]
    pub(crate) sort: Option<String>,
    /// The most skills of the answer, from 1 to 500.
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the answer before.
    #[schemars(extend("pattern" = "^[0-9]{0,15}$"))]
    pub(crate) cursor: Option<String>,
}

/// A value and the number of skills that have it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Facet {
    /// The value.
    pub(crate) value: String,
    /// The number of skills.
    pub(crate) skills: usize,
}

/// The values that skills can be filtered by.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Facets {
    /// The sources.
    pub(crate) sources: Vec<Facet>,
    /// The tags.
    pub(crate) tags: Vec<Facet>,
    /// The states.
    pub(crate) states: Vec<Facet>,
    /// The agents of the configuration.
    pub(crate) agents: Vec<String>,
}

/// A list of skills.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SkillList {
    /// The number of the snapshot, for senders that see the whole library.
    pub(crate) snapshot: Option<u64>,
    /// The skills.
    pub(crate) skills: Vec<SkillView>,
    /// The number of skills that fit the filters.
    pub(crate) total: usize,
    /// The cursor of the next part; absent for the last one.
    pub(crate) next_cursor: Option<String>,
    /// The values that skills can be filtered by.
    pub(crate) facets: Facets,
}

pub(crate) async fn list(ctx: &RequestContext, query: &SkillsQuery) -> Result<SkillList, ApiError> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let all = visible(ctx, &snapshot);
    let facts = Facts::read(ctx, &snapshot).await?;
    let facets = facets(ctx, &all);
    let text = query.q.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let mut entries = match text {
        Some(text) if text.chars().count() > MAX_QUERY_CHARS => {
            return Err(ApiError::invalid(format!("q: at most {MAX_QUERY_CHARS} characters")));
        }
        Some(text) => found(ctx, &snapshot, &all, text).await,
        None => all,
    };
    let agent = named_agent(ctx, query.agent.as_deref())?;
    let is = |wanted: &Option<String>, value: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted.is_empty() || wanted == value)
    };
    entries.retain(|entry| {
        is(&query.source, &entry.source)
            && query
                .tag
                .as_ref()
                .is_none_or(|tag| tag.is_empty() || entry.document.manifest.tags.contains(tag))
            && agent.is_none_or(|agent| agent.sees(entry))
            && match query.state.as_deref() {
                Some("problems") => entry.diagnostics().any(|found| found.severity >= Severity::Warning),
                _ => is(&query.state, entry.state.as_str()),
            }
    });
    match query.sort.as_deref() {
        Some("loads") => entries.sort_by_cached_key(|entry| std::cmp::Reverse(facts.loads(entry))),
        Some("tokens") => entries.sort_by_key(|entry| std::cmp::Reverse(facts.tokens(&snapshot, entry))),
        Some("last_use") => entries.sort_by_cached_key(|entry| std::cmp::Reverse(facts.last_use(entry))),
        Some("") | None if text.is_none() && query.state.as_deref() == Some("problems") => {
            let count = |entry: &&Entry, severity| {
                std::cmp::Reverse(entry.diagnostics().filter(|found| found.severity == severity).count())
            };
            entries
                .sort_by_cached_key(|entry| (count(entry, Severity::Error), count(entry, Severity::Warning)));
        }
        Some("name" | "") | None => {}
        Some(_) => return Err(ApiError::invalid("sort: name, loads, tokens or last_use")),
    }
    let page = part(entries, query.cursor.as_deref(), query.limit, PAGE)?;
    Ok(SkillList {
        snapshot: ctx.sees_all().then(|| snapshot.number()),
        skills: page.items.into_iter().map(|entry| facts.view(ctx, &snapshot, entry)).collect(),
        total: page.total,
        next_cursor: page.next,
        facets,
    })
}

/// Returns the skills of `snapshot` that the sender may see, sorted by name.
pub(crate) fn visible<'s>(ctx: &RequestContext, snapshot: &'s Snapshot) -> Vec<&'s Entry> {
    if ctx.sees_all() {
        snapshot.entries().iter().collect()
    } else {
        ctx.view.visible(snapshot).held().collect()
    }
}

/// Returns the skills of `all` that `text` is about, best first, then those with `text` in their names.
async fn found<'s>(
    ctx: &RequestContext,
    snapshot: &'s Arc<Snapshot>,
    all: &[&'s Entry],
    text: &str,
) -> Vec<&'s Entry> {
    let visible = ctx.view.visible(snapshot);
    let visibility = if ctx.sees_all() { Visibility::All } else { Visibility::Of(&visible) };
    let request = SearchRequest::new(text, MAX_FOUND);
    let hits = ctx.view.shared.library.search(snapshot, &request, visibility).await;
    let mut entries: Vec<&Entry> =
        hits.iter().filter_map(|hit| snapshot.entries().get(snapshot.index_of(&hit.entry)?)).collect();
    let text = text.to_lowercase();
    let known: HashSet<usize> = entries.iter().filter_map(|entry| snapshot.index_of(entry)).collect();
    // Names that begin with the text are meant most likely while somebody types.
    let (begin, other): (Vec<&Entry>, Vec<&Entry>) = all
        .iter()
        .copied()
        .filter(|entry| {
            entry.name().as_str().contains(&text)
                && !snapshot.index_of(entry).is_some_and(|index| known.contains(&index))
        })
        .partition(|entry| entry.name().as_str().starts_with(&text));
    entries.extend(begin);
    entries.extend(other);
    entries
}

fn facets(ctx: &RequestContext, all: &[&Entry]) -> Facets {
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
    let mut states: BTreeMap<State, usize> = BTreeMap::new();
    for entry in all {
        *sources.entry(&entry.source).or_default() += 1;
        *states.entry(entry.state).or_default() += 1;
        for tag in &entry.document.manifest.tags {
            *tags.entry(tag).or_default() += 1;
        }
    }
    let facet = |(value, skills): (&str, usize)| Facet { value: value.to_owned(), skills };
    let agents = if ctx.sees_all() {
        ctx.view.shared.library.agents().map(|agent| agent.name.clone()).collect()
    } else {
        Vec::new()
    };
    Facets {
        sources: sources.into_iter().map(facet).collect(),
        tags: tags.into_iter().map(facet).collect(),
        states: states.into_iter().map(|(state, skills)| facet((state.as_str(), skills))).collect(),
        agents,
    }
}

/// The rules whose findings tell which skills there are.
pub(crate) const NAMING_OTHERS: [RuleId; 3] =
    [RuleId::DuplicateName, RuleId::RequiresUnknown, RuleId::RequiresCycle];

/// The usage and the tokens of skills; usage is found by their identities.
pub(crate) struct Facts {
    tokens: EntryTokenCounts,
    counts: HashMap<String, SkillUsage>,
    days: BTreeMap<String, Vec<u64>>,
}

impl Facts {
    pub(crate) async fn read(ctx: &RequestContext, snapshot: &Arc<Snapshot>) -> Result<Self, ApiError> {
        let tokens = records::entry_tokens(ctx, snapshot).await?;
        Ok(Self::new(tokens, &*records::usage(ctx, USAGE_DAYS).await))
    }

    /// Reads the facts of `entry` alone.
    pub(crate) async fn of_skill(
        ctx: &RequestContext,
        snapshot: &Arc<Snapshot>,
        entry: &Entry,
    ) -> Result<Self, ApiError> {
        let tokens = records::entry_tokens(ctx, snapshot).await?;
        Ok(Self::new(tokens, &records::usage_of(ctx, USAGE_DAYS, entry).await))
    }

    fn new(tokens: EntryTokenCounts, usage: &UsageCounts) -> Self {
        let days = loads_per_day(&usage.daily, SystemTime::now(), USAGE_DAYS as usize);
        Self {
            tokens,
            counts: records::usage_by_skill(&usage.usage),
            days: days.into_iter().map(|(identity, loads)| (identity.to_owned(), loads)).collect(),
        }
    }

    pub(crate) fn tokens(&self, snapshot: &Snapshot, entry: &Entry) -> u64 {
        snapshot.index_of(entry).and_then(|index| self.tokens.get(index)).copied().unwrap_or_default()
    }

    /// Returns the loads of each day, today last; none if there were no loads.
    fn days(&self, entry: &Entry) -> &[u64] {
        self.days.get(&entry.record_identity()).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn counts(&self, entry: &Entry) -> Option<&SkillUsage> {
        self.counts.get(&entry.record_identity())
    }

    fn loads(&self, entry: &Entry) -> u64 {
        self.counts(entry).map_or(0, |counts| counts.loads)
    }

    fn last_use(&self, entry: &Entry) -> Option<SystemTime> {
        self.counts(entry).and_then(|counts| counts.last_use)
    }

    pub(crate) fn view(&self, ctx: &RequestContext, snapshot: &Snapshot, entry: &Entry) -> SkillView {
        let mut view = SkillView::new(entry);
        view.tokens = Some(SkillTokensView { catalog: self.tokens(snapshot, entry), body: None });
        let usage = self.counts(entry).map(|counts| UsageView::new(counts, self.days(entry)));
        view.usage = Some(usage.unwrap_or_default());
        view.diagnostics
            .retain(|found| ctx.sees_all() || !NAMING_OTHERS.iter().any(|rule| rule.as_str() == found.rule));
        view
    }
}
