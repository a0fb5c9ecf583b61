//! Every source of events tells of the same.

use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

use super::super::notice::{EntryKind, Happening, Notice};

/// What was told: what happened, to which entry, of which kind.
type Heard = (Happening, Option<OsString>, EntryKind);

macro_rules! suite {
    ($name:ident, $module:ident) => {
        mod $name {
            use super::super::$module::{Doorbell, Events};
            use super::*;

            fn start() -> (Events, Doorbell) {
                let (events, bell, refusal) = Events::new().unwrap();
                assert_eq!(refusal, None);
                (events, bell)
            }

            /// Waits until what is told holds `expect`, or fails.
            fn hear(events: &mut Events, expect: &Heard) {
                let deadline = Instant::now() + Duration::from_secs(10);
                let mut heard: Vec<Heard> = Vec::new();
                while !heard.contains(expect) {
                    assert!(Instant::now() < deadline, "{expect:?} is not among {heard:?}");
                    events.wait(Some(Duration::from_millis(50)), |notice: Option<Notice<'_>>| {
                        let notice = notice.unwrap();
                        heard.push((notice.happening, notice.name.map(ToOwned::to_owned), notice.kind));
                    });
                }
            }

            fn hear_end(events: &mut Events) {
                let deadline = Instant::now() + Duration::from_secs(10);
                let mut is_over = false;
                while !is_over {
                    assert!(Instant::now() < deadline);
                    events.wait(Some(Duration::from_millis(50)), |notice| {
                        is_over |= notice.is_some_and(|notice| notice.happening == Happening::Ended);
                    });
                }
            }

            #[test]
            fn entries_that_come_and_go_are_told_of() {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().canonicalize().unwrap();
                let (mut events, _bell) = start();
                let watch = events.add(&path).unwrap();
                assert_eq!(events.add(&path).unwrap(), watch);
                fs::create_dir(path.join("skill")).unwrap();
                hear(&mut events, &(Happening::Appeared, Some("skill".into()), EntryKind::Directory));
                fs::write(path.join("SKILL.md"), "x").unwrap();
                hear(&mut events, &(Happening::Written, Some("SKILL.md".into()), EntryKind::Other));
                fs::remove_file(path.join("SKILL.md")).unwrap();
                hear(&mut events, &(Happening::Vanished, Some("SKILL.md".into()), EntryKind::Other));
                fs::remove_dir(path.join("skill")).unwrap();
                hear(&mut events, &(Happening::Vanished, Some("skill".into()), EntryKind::Directory));
                fs::remove_dir(&path).unwrap();
                hear_end(&mut events);
            }

            #[test]
            fn nothing_below_is_told_of_and_nothing_after_the_end() {
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().canonicalize().unwrap();
                fs::create_dir(path.join("below")).unwrap();
                let (mut events, _bell) = start();
                let watch = events.add(&path).unwrap();
                fs::write(path.join("below/file"), "x").unwrap();
                fs::write(path.join("last"), "x").unwrap();
                let deadline = Instant::now() + Duration::from_secs(10);
                let (mut is_last, mut is_below) = (false, false);
                while !is_last {
                    assert!(Instant::now() < deadline);
                    events.wait(Some(Duration::from_millis(50)), |notice| {
                        let notice = notice.unwrap();
                        is_last |= notice.name.is_some_and(|name| name == "last");
                        is_below |= notice.name.is_some_and(|name| name == "file");
                    });
                }
                assert!(!is_below);
                events.remove(watch);
                // What was on its way is heard out first.
                events.wait(Some(Duration::from_millis(50)), |_| {});
                fs::write(path.join("more"), "x").unwrap();
                let mut is_heard = false;
                events.wait(Some(Duration::from_millis(50)), |notice| {
                    is_heard |= notice.is_some_and(|notice| notice.name.is_some_and(|name| name == "more"));
                });
                assert!(!is_heard);
            }

            #[test]
            fn the_bell_ends_a_wait() {
                let (mut events, bell) = start();
                let waiting = std::thread::spawn(move || events.wait(None, |_| {}));
                bell.ring();
                assert!(waiting.join().unwrap());
            }

            #[test]
            fn what_is_not_there_is_no_reason_to_give_up() {
                let directory = tempfile::tempdir().unwrap();
                let (mut events, _bell) = start();
                let refusal = events.add(&directory.path().join("nowhere")).unwrap_err();
                assert_eq!(refusal, super::super::Refusal::Absent);
            }
        }
    };
}

#[cfg(target_os = "linux")]
suite!(linux_events, linux);
suite!(portable_events, portable);
