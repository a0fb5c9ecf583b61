//! Events of a session.

use repertoire_model::answer::{Answer, FaultKind};

use super::open::Session;
use crate::clock;
use crate::event::{CallOrigin, Event, EventKind, Outcome};
use crate::prompt::BoundSkill;
use crate::tool::{EventDetails, ToolReply};

/// The events of a session.
#[derive(Clone, Copy)]
pub struct SessionRecord<'a> {
    session: &'a Session,
}

impl Session {
    /// Returns the events of this session.
    pub fn record(&self) -> SessionRecord<'_> {
        SessionRecord { session: self }
    }
}

impl SessionRecord<'_> {
    /// Returns an event of this session that begins now, for hosts that give skills other than by calls.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use repertoire::event::{CallOrigin, EventKind, Via};
    /// # let library = repertoire::Library::builder().open().await?;
    /// let session = library.session().await?;
    /// let mut origin = CallOrigin::default();
    /// origin.via = Via::Resource;
    /// let mut event = session.record().event(EventKind::FileRead, "read", &origin);
    /// event.skill = Some("git".to_owned());
    /// session.library().emit(&event);
    /// # Ok::<(), repertoire::Error>(())
    /// # })?;
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub fn event(&self, kind: EventKind, tool: &str, origin: &CallOrigin) -> Event {
        Event {
            agent: self.session.agent().map(|agent| agent.name.clone()),
            principal: origin.principal.as_deref().map(str::to_owned),
            surface: self.session.options().surface,
            via: origin.via,
            ..Event::new(
                kind,
                tool,
                origin.conversation.as_deref().unwrap_or(self.session.id()),
                clock::now(),
            )
        }
    }

    /// Records that the model has a prompt with the instructions of these skills, with one event for each.
    ///
    /// It is for hosts that put the prompt together elsewhere, as for a role; [`Session::prompt`] does it by
    /// itself. A skill that was recorded with the same text before has no event.
    pub fn prompt_shown(&self, bound: &[BoundSkill]) {
        let mut state = self.session.state();
        let mut given: Vec<&BoundSkill> = Vec::new();
        for skill in bound {
            state.ledger.bound(&skill.name, skill.digest);
            if state.shown.insert(skill.name.clone(), skill.digest) != Some(skill.digest) {
                given.push(skill);
            }
        }
        drop(state);
        for skill in given {
            let mut event = self.event(EventKind::SkillLoaded, "prompt", &CallOrigin::default());
            skill.describe(&mut event);
            self.session.library().emit(&event);
        }
    }

    /// Records the events of a call whose answer has `bytes`: one for each skill or file in the answer.
    pub(super) fn answered(&self, event: Event, reply: &ToolReply, bytes: usize) {
        let more = &reply.details.more;
        let others: usize = more.iter().map(|part| part.bytes).sum();
        let parts = [(&reply.details, bytes.saturating_sub(others))].into_iter();
        let parts = parts.chain(more.iter().map(|part| (part, part.bytes)));
        for (part, (details, bytes)) in parts.enumerate() {
            let mut event = Event { bytes: bytes as u64, part, ..event.clone() };
            self.describe(&mut event, details, &reply.answer);
            self.session.library().emit(&event);
        }
    }

    /// Writes into `event` what the call came to.
    fn describe(&self, event: &mut Event, details: &EventDetails, answer: &Answer) {
        event.skill.clone_from(&details.skill);
        event.file.clone_from(&details.file);
        event.source = details.source.as_deref().map(str::to_owned);
        event.identity.clone_from(&details.identity);
        event.via = details.via.unwrap_or(event.via);
        event.digest = details.digest;
        event.tokens = details.tokens as u64;
        event.query.clone_from(&details.query);
        event.results = details.results;
        event.skill_tool.clone_from(&details.skill_tool);
        (event.sandbox, event.exit_code) = (details.sandbox, details.exit_code);
        event.outcome = if details.is_denied { Outcome::Denied } else { outcome(answer) };
        if let Answer::Fault(fault) = answer {
            event.error = Some(fault.kind.as_str().to_owned());
        } else {
            event.error = details.error.map(str::to_owned);
        }
        self.measure(event);
    }

    /// Writes into `event`, if it is about a loaded skill, how well the load was predicted.
    pub(super) fn measure(&self, event: &mut Event) {
        if event.kind != EventKind::SkillLoaded || event.outcome != Outcome::Ok {
            return;
        }
        let Some(foreseen) = self.session.state().foreseen.clone() else { return };
        event.ranked = Some(foreseen.skills().len() as u64);
        event.rank = event.skill.as_deref().and_then(|name| foreseen.rank(name)).map(|rank| rank as u64);
    }
}

fn outcome(answer: &Answer) -> Outcome {
    let Answer::Fault(fault) = answer else {
        return if answer.is_error() { Outcome::Error } else { Outcome::Ok };
    };
    match &fault.kind {
        FaultKind::UnknownSkill { .. }
        | FaultKind::Gone
        | FaultKind::UnknownTool { .. }
        | FaultKind::SkillAsTool
        | FaultKind::NoFile { .. }
        | FaultKind::NoDirectory { .. }
        | FaultKind::NotLoaded { .. }
        | FaultKind::NoSkillTool { .. } => Outcome::NotFound,
        FaultKind::NotPermitted | FaultKind::Forbidden { .. } | FaultKind::NotApproved { .. } => {
            Outcome::Denied
        }
        FaultKind::MissingArgument { .. }
        | FaultKind::BadArgument { .. }
        | FaultKind::UnknownArgument { .. }
        | FaultKind::BadArguments { .. }
        | FaultKind::BadPath { .. }
        | FaultKind::IsDirectory { .. }
        | FaultKind::NotDirectory { .. }
        | FaultKind::Binary { .. }
        | FaultKind::TooLarge { .. } => Outcome::Invalid,
        // Broken, failed, and any kind that is added.
        _ => Outcome::Error,
    }
}
