//! Tests of the sink with real files, threads and processes.

#![allow(clippy::disallowed_methods, reason = "tests read what was written, and start themselves again")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use super::super::{Event, EventKind, EventSink as _, conformance};
use super::{JsonlOptions, JsonlSink};

/// The environment variable with the directory that a process of a test writes to.
const DIRECTORY: &str = "REPERTOIRE_TEST_EVENTS";

fn sink(directory: &Path) -> JsonlSink {
    JsonlSink::new(JsonlOptions::new(directory))
}

fn event(session: &str) -> Event {
    Event::new(EventKind::SkillLoaded, "load_skill", session, SystemTime::UNIX_EPOCH)
}

fn sessions(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let session = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        event["session"].as_str().unwrap().to_owned()
    };
    text.lines().filter(|line| !line.is_empty()).map(session).collect()
}

/// Returns the sessions of all files, the oldest file first.
fn all_sessions(directory: &Path) -> Vec<String> {
    let numbered = (1..=9_999).rev().map(|number| directory.join(format!("events.{number}.jsonl")));
    numbered.chain([directory.join("events.jsonl")]).flat_map(|path| sessions(&path)).collect()
}

#[test]
fn the_jsonl_sink_passes_the_conformance_suite() {
    let directory = tempfile::tempdir().unwrap();
    let sink = sink(directory.path());
    let expect = conformance::stand(&sink);
    let seen = sessions(sink.path());
    assert_eq!((seen.len(), seen.into_iter().collect()), (expect.len(), expect));
}

#[test]
fn the_first_event_makes_directory_and_file_for_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("state/repertoire");
    let sink = sink(&home);
    assert!(!home.try_exists().unwrap());
    sink.record(&event("1"));
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["1", "2"]);
    assert_eq!(fs::metadata(sink.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    let names: Vec<_> = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["events.jsonl"]);
}

#[test]
fn a_file_that_was_deleted_or_replaced_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let sink = sink(directory.path());
    sink.record(&event("1"));
    fs::remove_file(sink.path()).unwrap();
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["2"]);
    fs::rename(sink.path(), directory.path().join("old")).unwrap();
    fs::write(sink.path(), "").unwrap();
    sink.record(&event("3"));
    assert_eq!(sessions(sink.path()), ["3"]);
    fs::remove_dir_all(directory.path()).unwrap();
    sink.record(&event("4"));
    assert_eq!(sessions(sink.path()), ["4"]);
}

#[test]
fn a_torn_line_spoils_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let sink = sink(directory.path());
    fs::write(sink.path(), "{\"time\":\"19").unwrap();
    sink.record(&event("1"));
    sink.record(&event("2"));
    let text = fs::read_to_string(sink.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "{\"time\":\"19"));
    assert!(lines[1].ends_with('}') && lines[2].ends_with('}'), "{text}");
}

#[test]
fn full_files_move_up_and_the_oldest_goes() {
    let directory = tempfile::tempdir().unwrap();
    let length = {
        let sink = sink(&directory.path().join("one"));
        sink.record(&event("0"));
        fs::metadata(sink.path()).unwrap().len()
    };
    let home = directory.path().join("many");
    let with =
        |keep| JsonlSink::new(JsonlOptions { max_bytes: 2 * length + 1, keep, ..JsonlOptions::new(&home) });
    let files = |numbers: &[usize]| -> Vec<String> {
        let path = |number: &usize| home.join(format!("events.{number}.jsonl"));
        numbers.iter().map(|number| sessions(&path(number)).concat()).collect()
    };
    let sink = with(3);
    for number in 0..9 {
        sink.record(&event(&number.to_string()));
    }
    assert_eq!(
        (sessions(sink.path()).concat(), files(&[1, 2, 3, 4])),
        ("8".into(), vec!["67".into(), "45".into(), "23".into(), String::new()])
    );
    // A gap is closed, and a smaller `keep` removes the files beyond it.
    let sink = with(1);
    sink.record(&event("9"));
    sink.record(&event("a"));
    assert_eq!(
        (sessions(sink.path()).concat(), files(&[1, 2, 3])),
        ("a".into(), vec!["89".into(), String::new(), String::new()])
    );
}

#[test]
fn an_event_larger_than_a_file_has_one_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let options = JsonlOptions { max_bytes: 10, keep: 0, ..JsonlOptions::new(directory.path()) };
    let sink = JsonlSink::new(options);
    sink.record(&event("1"));
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["2"]);
    assert_eq!(sessions(&directory.path().join("events.1.jsonl")), ["1"]);
}

#[test]
fn a_full_file_is_still_written_to_while_the_lock_is_held() {
    let directory = tempfile::tempdir().unwrap();
    let lock = File::create(directory.path().join("events.lock")).unwrap();
    lock.lock().unwrap();
    let sink = JsonlSink::new(JsonlOptions { max_bytes: 10, ..JsonlOptions::new(directory.path()) });
    sink.record(&event("1"));
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["1", "2"]);
    lock.unlock().unwrap();
    sink.record(&event("3"));
    assert_eq!(sessions(sink.path()), ["3"]);
}

#[test]
fn only_regular_files_are_opened() {
    let directory = tempfile::tempdir().unwrap();
    let sink = sink(directory.path());
    let elsewhere = directory.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    let attempt = |put: &dyn Fn(&Path)| {
        put(sink.path());
        sink.record(&event("1"));
        let kind = fs::symlink_metadata(sink.path()).unwrap().file_type();
        assert!(!kind.is_file());
        if kind.is_dir() { fs::remove_dir(sink.path()) } else { fs::remove_file(sink.path()) }.unwrap();
    };
    attempt(&|path| symlink(&elsewhere, path).unwrap());
    attempt(&|path| symlink("/dev/full", path).unwrap());
    attempt(&|path| symlink(directory.path().join("nowhere"), path).unwrap());
    attempt(&|path| fs::create_dir(path).unwrap());
    attempt(&|path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()));
    #[cfg(target_os = "linux")]
    attempt(&|path| {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    });
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "");
    assert!(!directory.path().join("nowhere").try_exists().unwrap());
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["2"]);
}

#[test]
fn events_are_dropped_where_the_directory_cannot_be_created() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "x").unwrap();
    sink(&file.join("below")).record(&event("1"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn the_file_is_appended_to_and_never_rewritten() {
    let directory = tempfile::tempdir().unwrap();
    let sink = sink(directory.path());
    sink.record(&event("1"));
    let before = fs::metadata(sink.path()).unwrap().ino();
    // Another process that appends is not overwritten.
    let mut other = File::options().append(true).open(sink.path()).unwrap();
    other.write_all(b"{\"session\":\"other\"}\n").unwrap();
    sink.record(&event("2"));
    assert_eq!(sessions(sink.path()), ["1", "other", "2"]);
    assert_eq!(fs::metadata(sink.path()).unwrap().ino(), before);
}

/// The events that one thread of one process writes in the test below.
const EACH: usize = 200;

/// Writes from several threads with two sinks, as one of the processes of the test below.
fn write_much(directory: &Path, process: &str) {
    // Small files and many of them: they are moved all the time, and none is removed.
    let options = JsonlOptions { max_bytes: 4_000, keep: 9_000, ..JsonlOptions::new(directory) };
    let sinks = [JsonlSink::new(options.clone()), JsonlSink::new(options)];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let sink = &sinks[thread % 2];
            scope.spawn(move || {
                for number in 0..EACH {
                    let mut event = event(&format!("{process}-{thread}-{number}"));
                    event.error = Some("x".repeat(number % 50 * 10));
                    sink.record(&event);
                }
            });
        }
    });
}

#[test]
#[ignore = "it is a process of the test below"]
fn one_of_several_processes() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        write_much(Path::new(&directory), &std::process::id().to_string());
    }
}

#[test]
fn several_processes_write_and_rotate_without_losing_or_repeating_an_event() {
    let directory = tempfile::tempdir().unwrap();
    let name = "event::jsonl::tests::one_of_several_processes";
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--quiet"]).env(DIRECTORY, directory.path());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..3).map(|_| start()).collect();
    write_much(directory.path(), "parent");
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let all = all_sessions(directory.path());
    assert_eq!(all.len(), 4 * 4 * EACH);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    // The number of rotations depends on the scheduling of the processes.
    assert!(directory.path().join("events.1.jsonl").try_exists().unwrap(), "it was never full");
}
