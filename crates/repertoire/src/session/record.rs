//! Events of a session.

use super::open::Session;
use crate::clock;
use crate::event::{CallOrigin, Event, EventKind};
use crate::prompt::BoundSkill;

impl Session {
    /// Returns an event of this session that begins now: for hosts that hand out skills in other ways than by calls.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use repertoire::event::{CallOrigin, EventKind, Via};
    /// # let library = repertoire::Library::builder().open().await?;
    /// let session = library.session().await?;
    /// let mut origin = CallOrigin::default();
    /// origin.via = Via::Resource;
    /// let mut event = session.event(EventKind::FileRead, "read", &origin);
    /// event.skill = Some("git".to_owned());
    /// session.library().emit(&event);
    /// # Ok::<(), repertoire::Error>(())
    /// # })?;
    /// # Ok::<(), repertoire::Error>(())
    /// ```
    pub fn event(&self, kind: EventKind, tool: &str, origin: &CallOrigin) -> Event {
        Event {
            agent: self.agent().map(|agent| agent.name.clone()),
            principal: origin.principal.as_deref().map(str::to_owned),
            surface: self.options().surface,
            via: origin.via,
            ..Event::new(kind, tool, origin.conversation.as_deref().unwrap_or(self.id()), clock::now())
        }
    }

    /// Records that the model has a prompt with the instructions of these skills, with one event for each.
    ///
    /// It is for hosts that put the prompt together elsewhere, as for a role; [`Session::prompt`] does it by itself. A skill that
    /// was recorded with the same text before has no event.
    pub fn prompt_shown(&self, bound: &[BoundSkill]) {
        let mut state = self.state();
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
            self.library().emit(&event);
        }
    }
}
