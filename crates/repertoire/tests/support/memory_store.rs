//! A store that lives as long as its process, for tests.

#![allow(unreachable_pub, reason = "it is a module of several tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use repertoire::event::{Event, EventKind, Outcome, jsonl};
use repertoire::store::{
    Blob, DailyLoads, ENDED_TOKEN_TIME, EventQuery, FREE_RULE, Journal, JournalLine, MAX_TOKENS, NewProposal,
    NewVersion, Proposal, ProposalDecision, ProposalLimits, ProposalState, Proposals, Publication,
    Publications, Release, ReleaseChange, ReleasedSkill, Releases, Retention, Store, Submission, TokenRecord,
    Tokens, UsageCount, Version, Versions, effective_changes, token_exists, too_many_tokens,
};
use repertoire::{Error, ErrorKind};
use repertoire_model::bundle::{Bundle, Digest};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
    /// Signalled after each release.
    released: Condvar,
}

#[derive(Debug, Default)]
struct MemoryState {
    events: Vec<(JournalLine, Event)>,
    last_event: u64,
    /// The usage of each day.
    usage: Vec<(u64, UsageCount)>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    /// When blobs were last looked for.
    recent_blobs: BTreeMap<Digest, SystemTime>,
    versions: BTreeMap<String, Vec<Version>>,
    proposals: Vec<Proposal>,
    releases: Vec<Release>,
    last_release: u64,
    publications: Vec<Publication>,
    tokens: Vec<TokenRecord>,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the state, which every operation leaves whole.
    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn schema_version(&self) -> Result<u32, Error> {
        Ok(0)
    }
}

/// Returns the day of `time`, in days since 1970-01-01 UTC.
fn day(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / (24 * 60 * 60)
}

impl Journal for MemoryStore {
    fn append(&self, events: &[Event]) -> Result<(), Error> {
        let mut state = self.lock();
        for event in events {
            state.last_event += 1;
            let json = jsonl::line(event).map_err(|error| Error::new(ErrorKind::Store).because(error))?;
            let line = JournalLine { id: state.last_event, json };
            state.events.push((line, event.clone()));
            let Some(skill) = event.used_skill() else { continue };
            let usage = UsageCount {
                kind: event.kind,
                outcome: event.outcome,
                skill: skill.to_owned(),
                source: event.source.clone(),
                identity: event.identity.clone(),
                file: event.file.clone(),
                agent: event.agent.clone(),
                calls: 1,
                tokens: event.tokens,
                last: event.time,
            };
            add_usage(&mut state.usage, day(event.time), usage);
        }
        Ok(())
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<JournalLine>, Error> {
        let state = self.lock();
        let selected = state.events.iter().filter(|(line, event)| {
            query.after.is_none_or(|after| line.id > after)
                && query.before.is_none_or(|before| line.id < before)
                && query.since.is_none_or(|since| event.time >= since)
                && (query.skill.is_none() || query.skill == event.skill)
                && (query.agent.is_none() || query.agent == event.agent)
        });
        let mut lines: Vec<JournalLine> = selected.map(|(line, _)| line.clone()).collect();
        if query.after.is_some() {
            lines.truncate(query.limit);
        } else {
            lines.drain(..lines.len().saturating_sub(query.limit));
        }
        Ok(lines)
    }

    fn usage(&self, since: Option<SystemTime>) -> Result<Vec<UsageCount>, Error> {
        let first = since.map_or(0, day);
        let mut total = Vec::new();
        for (day, usage) in &self.lock().usage {
            let mut usage = usage.clone();
            if *day < first {
                (usage.calls, usage.tokens) = (0, 0);
            }
            add_usage(&mut total, 0, usage);
        }
        Ok(total.into_iter().map(|(_, usage)| usage).collect())
    }

    fn daily_loads(&self, since: SystemTime) -> Result<Vec<DailyLoads>, Error> {
        let mut loads: BTreeMap<(String, Option<String>, u64), u64> = BTreeMap::new();
        for (date, usage) in self.lock().usage.iter().filter(|(date, _)| *date >= day(since)) {
            if usage.kind == EventKind::SkillLoaded && usage.outcome == Outcome::Ok && usage.file.is_none() {
                let key = (usage.skill.clone(), usage.identity.clone(), *date);
                *loads.entry(key).or_default() += usage.calls;
            }
        }
        let daily = |((skill, identity, day), loads)| DailyLoads { skill, identity, day, loads };
        Ok(loads.into_iter().map(daily).collect())
    }

    fn prune(&self, retention: Retention, now: SystemTime) -> Result<u64, Error> {
        let mut state = self.lock();
        let before = state.events.len();
        if let Some(oldest) = now.checked_sub(retention.age) {
            state.events.retain(|(_, event)| event.time >= oldest);
            state.usage.retain(|(date, usage)| *date >= day(oldest) || usage.outcome != Outcome::NotFound);
        }
        let most = usize::try_from(retention.events).unwrap_or(usize::MAX);
        let surplus = state.events.len().saturating_sub(most);
        state.events.drain(..surplus);
        Ok((before - state.events.len()) as u64)
    }
}

/// Adds `usage` of a day to the row with the same key, or as a new one.
fn add_usage(rows: &mut Vec<(u64, UsageCount)>, day: u64, usage: UsageCount) {
    let same = |other: &UsageCount| {
        (other.kind, other.outcome, &other.skill, &other.source, &other.identity, &other.file, &other.agent)
            == (
                usage.kind,
                usage.outcome,
                &usage.skill,
                &usage.source,
                &usage.identity,
                &usage.file,
                &usage.agent,
            )
    };
    match rows.iter_mut().find(|(date, row)| *date == day && same(row)) {
        Some((_, row)) => {
            row.calls += usage.calls;
            row.tokens = row.tokens.saturating_add(usage.tokens);
            row.last = row.last.max(usage.last);
        }
        None => rows.push((day, usage)),
    }
}

impl Versions for MemoryStore {
    fn put_blobs(&self, blobs: &[Blob]) -> Result<(), Error> {
        let mut state = self.lock();
        for Blob { digest, bytes } in blobs {
            state.blobs.insert(*digest, bytes.clone());
        }
        Ok(())
    }

    fn raw_blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.lock().blobs.get(digest).cloned())
    }

    fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, Error> {
        let mut state = self.lock();
        state.recent_blobs.extend(digests.iter().map(|digest| (*digest, SystemTime::now())));
        let missing: BTreeSet<Digest> =
            digests.iter().filter(|digest| !state.blobs.contains_key(digest)).copied().collect();
        Ok(missing.into_iter().collect())
    }

    fn add_version(&self, version: &NewVersion) -> Result<(Version, bool), Error> {
        Ok(add_version(&mut self.lock(), version))
    }

    fn add_versions(&self, versions: &[NewVersion]) -> Result<(), Error> {
        let mut state = self.lock();
        for version in versions {
            add_version(&mut state, version);
        }
        Ok(())
    }

    fn versions(&self, skill: &str) -> Result<Vec<Version>, Error> {
        let state = self.lock();
        Ok(state.versions.get(skill).into_iter().flat_map(|all| all.iter().rev().cloned()).collect())
    }

    fn latest_version(&self, skill: &str) -> Result<Option<Version>, Error> {
        Ok(self.lock().versions.get(skill).and_then(|versions| versions.last().cloned()))
    }

    fn latest_digests(&self) -> Result<Vec<(String, Digest)>, Error> {
        let state = self.lock();
        let latest = state.versions.iter().filter_map(|(skill, all)| Some((skill, all.last()?)));
        Ok(latest.map(|(skill, version)| (skill.clone(), version.digest)).collect())
    }

    fn collect_garbage(&self, named: &BTreeSet<Digest>, time: SystemTime) -> Result<(), Error> {
        let mut state = self.lock();
        let mut needed = named.clone();
        needed.extend(state.versions.values().flatten().map(|version| version.digest));
        needed.extend(state.proposals.iter().flat_map(|proposal| proposal.content.base));
        needed.extend(state.proposals.iter().map(|proposal| proposal.content.result));
        needed.extend(state.releases.iter().filter_map(|release| release.change.digest));
        needed.extend(state.publications.iter().map(|publication| publication.digest));
        let manifests = needed.iter().filter_map(|digest| Bundle::parse(state.blobs.get(digest)?));
        let files: Vec<Digest> = manifests
            .flat_map(|bundle| bundle.files().iter().map(|file| file.digest).collect::<Vec<_>>())
            .collect();
        needed.extend(files);
        let is_garbage = |digest: &Digest, last: &SystemTime| *last < time && !needed.contains(digest);
        let MemoryState { recent_blobs, blobs, .. } = &mut *state;
        blobs.retain(|digest, _| !recent_blobs.get(digest).is_some_and(|last| is_garbage(digest, last)));
        recent_blobs.retain(|digest, last| !is_garbage(digest, last));
        Ok(())
    }
}

/// Records `version` as the newest of its skill, unless it is that already. Returns the newest, and `true` if
/// it is new.
fn add_version(state: &mut MemoryState, version: &NewVersion) -> (Version, bool) {
    let versions = state.versions.entry(version.skill.clone()).or_default();
    if let Some(newest) = versions.last().filter(|newest| newest.digest == version.digest) {
        return (newest.clone(), false);
    }
    let NewVersion { skill, name, digest, time, origin, author } = version.clone();
    let number = versions.len() as u64 + 1;
    let recorded = Version { number, skill, name, digest, time, origin, author };
    versions.push(recorded.clone());
    (recorded, true)
}

impl Proposals for MemoryStore {
    fn submit(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Submission, Error> {
        let mut state = self.lock();
        if let Some(refusal) = refusal(&state.proposals, proposal, limits) {
            return Ok(refusal);
        }
        let replaced = |other: &&mut Proposal| {
            Some(other.id) == proposal.replaces
                && matches!(other.state, ProposalState::Pending | ProposalState::Stale)
        };
        if let Some(replaced) = state.proposals.iter_mut().find(replaced) {
            replaced.state = ProposalState::Superseded;
        }
        let id = state.proposals.len() as u64 + 1;
        let content = proposal.clone();
        state.proposals.push(Proposal { id, content, state: ProposalState::Pending, decision: None });
        Ok(Submission::Accepted(id))
    }

    fn refusal(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Option<Submission>, Error> {
        Ok(refusal(&self.lock().proposals, proposal, limits))
    }

    fn proposal(&self, id: u64) -> Result<Option<Proposal>, Error> {
        Ok(self.lock().proposals.iter().find(|proposal| proposal.id == id).cloned())
    }

    fn proposals(&self, states: &[ProposalState]) -> Result<Vec<Proposal>, Error> {
        let state = self.lock();
        let selected =
            state.proposals.iter().filter(|found| states.is_empty() || states.contains(&found.state));
        Ok(selected.rev().cloned().collect())
    }

    fn decide(
        &self,
        id: u64,
        from: ProposalState,
        to: ProposalState,
        decision: Option<&ProposalDecision>,
    ) -> Result<bool, Error> {
        let mut state = self.lock();
        let found = state.proposals.iter_mut().find(|proposal| proposal.id == id && proposal.state == from);
        let Some(proposal) = found else { return Ok(false) };
        proposal.state = to;
        if let Some(decision) = decision {
            proposal.decision = Some(decision.clone());
        }
        Ok(true)
    }
}

/// Returns the reason not to accept `proposal` beside the proposals `all`, if there is one.
fn refusal(all: &[Proposal], proposal: &NewProposal, limits: ProposalLimits) -> Option<Submission> {
    for other in all.iter().filter(|other| other.content.skill == proposal.skill) {
        let content = &other.content;
        let is_same = (content.base, content.result) == (proposal.base, proposal.result);
        match other.state {
            ProposalState::Pending if is_same => return Some(Submission::Duplicate(other.id)),
            // The same change of another base was rejected, too.
            ProposalState::Rejected if is_same || content.diff == proposal.diff => {
                return Some(Submission::Rejected(other.id));
            }
            _ => {}
        }
    }
    let is_pending =
        |other: &Proposal| other.state == ProposalState::Pending && Some(other.id) != proposal.replaces;
    let is_free = |other: &Proposal| {
        other.state == ProposalState::Applied
            && other.decision.as_ref().is_some_and(|decision| decision.reviewer == FREE_RULE)
    };
    let pending = || all.iter().filter(|other| is_pending(other));
    if pending().filter(|other| other.content.skill == proposal.skill).count() as u64 >= limits.per_skill {
        return Some(Submission::TooManyForSkill);
    }
    let of_session = all.iter().filter(|other| {
        proposal.session.is_some()
            && other.content.session == proposal.session
            && (is_pending(other) || is_free(other))
    });
    if of_session.count() as u64 >= limits.per_session {
        return Some(Submission::TooManyForSession);
    }
    let of_agents = pending().filter(|other| other.content.is_by_agent());
    let is_full = proposal.is_by_agent() && of_agents.count() as u64 >= limits.total;
    is_full.then_some(Submission::TooMany)
}

/// Returns the skills of `channel`, sorted by name.
fn served(state: &MemoryState, channel: &str) -> Vec<ReleasedSkill> {
    let mut skills: BTreeMap<&str, (Option<Digest>, u64)> = BTreeMap::new();
    for release in state.releases.iter().filter(|release| release.channel == channel) {
        skills.insert(&release.change.name, (release.change.digest, release.number));
    }
    let served = skills.into_iter().filter_map(|(name, (digest, release))| {
        Some(ReleasedSkill { name: name.to_owned(), digest: digest?, release })
    });
    served.collect()
}

/// Makes `changes` to `channel`. Returns the number of the release, `None` if nothing is left to change.
fn release(
    state: &mut MemoryState,
    channel: &str,
    changes: &[ReleaseChange],
    author: Option<&str>,
    time: SystemTime,
) -> Option<u64> {
    let served = served(state, channel).into_iter().map(|skill| (skill.name, skill.digest)).collect();
    let changes = effective_changes(changes, &served);
    if changes.is_empty() {
        return None;
    }
    state.last_release += 1;
    let (number, author) = (state.last_release, author.map(str::to_owned));
    state.releases.extend(changes.into_iter().map(|change| Release {
        number,
        channel: channel.to_owned(),
        change,
        time,
        author: author.clone(),
    }));
    Some(number)
}

impl Releases for MemoryStore {
    fn release(
        &self,
        channel: &str,
        changes: &[ReleaseChange],
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error> {
        let number = release(&mut self.lock(), channel, changes, author, time);
        self.released.notify_all();
        Ok(number)
    }

    fn release_over(
        &self,
        channel: &str,
        change: &ReleaseChange,
        base: Option<&Digest>,
        author: Option<&str>,
        time: SystemTime,
    ) -> Result<Option<u64>, Error> {
        let mut state = self.lock();
        let skill = served(&state, channel).into_iter().find(|skill| skill.name == change.name);
        if skill.map(|skill| skill.digest).as_ref() != base {
            return Ok(None);
        }
        let number = release(&mut state, channel, std::slice::from_ref(change), author, time);
        self.released.notify_all();
        Ok(number)
    }

    fn released(&self, channel: &str) -> Result<Vec<ReleasedSkill>, Error> {
        Ok(served(&self.lock(), channel))
    }

    fn releases(&self, channel: &str, name: &str) -> Result<Vec<Release>, Error> {
        let state = self.lock();
        let of_skill =
            state.releases.iter().filter(|release| release.channel == channel && release.change.name == name);
        Ok(of_skill.rev().cloned().collect())
    }

    fn first_releases(&self, channel: &str) -> Result<Vec<(String, SystemTime)>, Error> {
        let mut first = BTreeMap::new();
        for release in self.lock().releases.iter().filter(|release| release.channel == channel) {
            first.entry(release.change.name.clone()).or_insert(release.time);
        }
        Ok(first.into_iter().collect())
    }

    fn newest_names(&self, channel: &str) -> Result<Vec<String>, Error> {
        let state = self.lock();
        let of_channel = || state.releases.iter().filter(|release| release.channel == channel);
        let newest = of_channel().map(|release| release.number).max();
        let names: BTreeSet<&String> = of_channel()
            .filter(|release| Some(release.number) == newest)
            .map(|release| &release.change.name)
            .collect();
        Ok(names.into_iter().cloned().collect())
    }

    fn channels(&self) -> Result<Vec<String>, Error> {
        let channels: BTreeSet<String> =
            self.lock().releases.iter().map(|release| release.channel.clone()).collect();
        let mut used = Vec::new();
        for channel in channels {
            if !self.released(&channel)?.is_empty() {
                used.push(channel);
            }
        }
        Ok(used)
    }

    fn newest_release(&self) -> Result<u64, Error> {
        Ok(self.lock().last_release)
    }

    fn wait_for_release(&self, after: u64, timeout: Duration) -> Result<u64, Error> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.lock();
        while state.last_release <= after {
            let left =
                deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            let waited = self.released.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        Ok(state.last_release)
    }
}

impl Publications for MemoryStore {
    fn publish(&self, publication: &Publication) -> Result<(Publication, bool), Error> {
        let mut state = self.lock();
        let is_same =
            |other: &&Publication| other.name == publication.name && other.version == publication.version;
        if let Some(known) = state.publications.iter().find(is_same) {
            return Ok((known.clone(), false));
        }
        state.publications.push(publication.clone());
        Ok((publication.clone(), true))
    }

    fn publications(&self, name: &str) -> Result<Vec<Publication>, Error> {
        let state = self.lock();
        let mut found: Vec<Publication> =
            state.publications.iter().filter(|publication| publication.name == name).cloned().collect();
        found.sort_by(|a, b| (b.time, &b.version).cmp(&(a.time, &a.version)));
        Ok(found)
    }
}

impl Tokens for MemoryStore {
    fn add_token(&self, token: &TokenRecord) -> Result<(), Error> {
        let mut state = self.lock();
        if state.tokens.iter().any(|other| other.digest == token.digest) {
            return Err(token_exists());
        }
        let is_kept = |other: &TokenRecord| {
            other
                .expires
                .and_then(|end| end.checked_add(ENDED_TOKEN_TIME))
                .is_none_or(|end| token.created < end)
        };
        state.tokens.retain(is_kept);
        if state.tokens.iter().filter(|other| other.is_valid(token.created)).count() as u64 >= MAX_TOKENS {
            return Err(too_many_tokens());
        }
        state.tokens.push(token.clone());
        Ok(())
    }

    fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        let mut tokens = self.lock().tokens.clone();
        tokens.sort_by(|a, b| (&a.name, a.created, a.digest).cmp(&(&b.name, b.created, b.digest)));
        Ok(tokens)
    }

    fn active_tokens(&self, now: SystemTime) -> Result<Vec<TokenRecord>, Error> {
        let mut tokens = self.tokens()?;
        tokens.retain(|token| token.is_valid(now));
        Ok(tokens)
    }

    fn revoke_token(&self, digest: &Digest, time: SystemTime) -> Result<bool, Error> {
        let mut state = self.lock();
        let is_active = |token: &&mut TokenRecord| token.digest == *digest && token.revoked.is_none();
        let Some(token) = state.tokens.iter_mut().find(is_active) else { return Ok(false) };
        token.revoked = Some(time);
        Ok(true)
    }
}
