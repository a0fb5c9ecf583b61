//! Notices of a server on standard error.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use repertoire::serve::Notice;
use repertoire::{Registry, Snapshot, Watcher};

use crate::ui::say;
use crate::wire;

/// The most notices that are written; `rep check --publish` reports the rest.
const MAX_NOTICES: usize = 20;

/// The interval of checks whether the library is followed yet.
const LOOK: Duration = Duration::from_millis(100);

/// Writes notices to standard error, a bounded number of them.
#[derive(Debug)]
pub(crate) struct NoticeWriter {
    count: AtomicUsize,
    /// True if there are tools that reach unlisted skills.
    offers_tools: bool,
}

impl NoticeWriter {
    /// Returns a writer for a server that `offers_tools` or not.
    pub(crate) fn new(offers_tools: bool) -> Self {
        Self { count: AtomicUsize::new(0), offers_tools }
    }

    /// Writes `notice`.
    pub(crate) fn tell(&self, notice: &Notice) {
        match self.count.fetch_add(1, Ordering::Relaxed) {
            ..MAX_NOTICES => say(&text(notice, self.offers_tools)),
            MAX_NOTICES => say("there are more; run `rep check --publish` for all of them"),
            _ => {}
        }
    }
}

/// Reports the limits of following the library as soon as they are known, if the server still runs then.
pub(crate) fn tell_of_limits(watcher: &Arc<Watcher>) {
    let watcher: Weak<Watcher> = Arc::downgrade(watcher);
    std::thread::spawn(move || {
        while let Some(watcher) = watcher.upgrade() {
            if watcher.wait_ready(LOOK) {
                for problem in watcher.problems() {
                    say(&format!("{} [{}]", problem.diagnostic.message, problem.diagnostic.rule));
                }
                return;
            }
        }
    });
}

/// Reports skills that are not offered or hide others, now and whenever a reload changes that.
pub(crate) fn tell_of_skills(registry: &Registry) {
    let current = |snapshot: &Snapshot| wire::notices(snapshot, snapshot.problems());
    let mut changes = registry.subscribe();
    let mut told = current(&registry.snapshot());
    told.iter().for_each(|notice| say(notice));
    let registry = registry.clone();
    std::thread::spawn(move || {
        loop {
            pollster::block_on(changes.next_snapshot());
            let notices = current(&registry.snapshot());
            notices.iter().filter(|notice| !told.contains(notice)).for_each(|notice| say(notice));
            told = notices;
        }
    });
}

fn text(notice: &Notice, offers_tools: bool) -> String {
    match notice {
        Notice::Withheld { skill, reasons, .. } => {
            let reason = reasons.first();
            let why =
                reason.map(|reason| format!(": {} [{}]", reason.message, reason.rule)).unwrap_or_default();
            let rest = if offers_tools { "; tools still reach it" } else { "" };
            format!("`{skill}` is not on skills/list{why}{rest}")
        }
        _ => "something is not served; run `rep check --publish`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::ui::line;

    use super::*;

    #[test]
    fn a_notice_is_one_line_and_ends_with_one() {
        let notice = |skill: &str| Notice::Withheld {
            skill: skill.to_owned(),
            path: "skills/x".to_owned(),
            reasons: Vec::new(),
        };
        assert_eq!(
            line(&text(&notice("sloppy"), true)),
            "rep: `sloppy` is not on skills/list; tools still reach it\n"
        );
        assert_eq!(
            line(&text(&notice("sloppy"), false)),
            "rep: `sloppy` is not on skills/list\n",
            "no tools reach anything"
        );
        let harmful = line(&text(&notice("a\nb\u{1b}[31m"), true));
        assert_eq!(harmful.matches('\n').count(), 1, "{harmful:?}");
        assert!(harmful.ends_with('\n') && !harmful.contains('\u{1b}'), "{harmful:?}");
    }
}
