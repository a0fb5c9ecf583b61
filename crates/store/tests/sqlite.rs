//! Tests of the SQLite store.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use repertoire::ErrorKind;
use repertoire::certificates::Certificates;
use repertoire::event::{Event, EventKind};
use repertoire::provider::store::StoreProvider;
use repertoire::store::{
    Blob, EventQuery, Journal as _, LazyStore, NewVersion, Origin, ReleaseChange, Releases as _, Store,
    Versions as _, blob,
};
use repertoire::testing;
use repertoire_model::bundle::Digest;
use repertoire_store::{SqliteStore, open};

use crate::store_suite;

fn event() -> Event {
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "s1", SystemTime::now());
    event.skill = Some("a".to_owned());
    event
}

/// Holds the provider of the skills in `store`, which is empty, to the conformance suite.
pub(crate) fn check_provider(store: Arc<dyn Store>) {
    testing::release_library(&*store, "stable").unwrap();
    let provider = StoreProvider::new(LazyStore::from(store), "stable");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(testing::provider_suite(&provider));
}

#[test]
fn skills_in_sqlite_pass_the_suite_of_providers() {
    let directory = tempfile::tempdir().unwrap();
    check_provider(Arc::new(SqliteStore::open(directory.path().join("store.db")).unwrap()));
}

/// Returns the error of opening the file at `path`.
fn refusal(path: &Path) -> String {
    let error = SqliteStore::open(path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.chain().contains(path.to_str().unwrap()), "{}", error.chain());
    error.chain()
}

#[test]
fn the_sqlite_store_passes_the_conformance_suite() {
    let directory = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    store_suite::check(&|| {
        number.set(number.get() + 1);
        Arc::new(SqliteStore::open(directory.path().join(format!("{}.db", number.get()))).unwrap())
    });
}

#[test]
fn many_openers_at_once_make_the_tables_once_and_share_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("state").join("store.db");
    thread::scope(|scope| {
        for opener in 0..8 {
            scope.spawn(move || {
                let store = SqliteStore::open(path).unwrap();
                for round in 0..5 {
                    store.append(&[event(), event()]).unwrap();
                    let version = NewVersion {
                        skill: "/a".to_owned(),
                        name: "a".to_owned(),
                        digest: Digest::of(format!("{opener} {round}").as_bytes()),
                        time: SystemTime::now(),
                        origin: Origin::Edit,
                        author: None,
                    };
                    assert!(store.add_version(&version).unwrap().1);
                }
            });
        }
    });
    let store = SqliteStore::open(path).unwrap();
    assert_eq!(store.schema_version().unwrap(), 4);
    assert_eq!(store.location(), path.to_str().unwrap());
    assert_eq!(store.latest_version("/a").unwrap().unwrap().number, 40);
    assert_eq!(store.usage(None).unwrap()[0].calls, 80);
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 80);
}

#[test]
fn a_release_through_one_handle_wakes_those_who_wait_on_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let (publisher, replica) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| replica.wait_for_release(0, Duration::from_secs(60)).unwrap());
        let change = ReleaseChange { name: "a".to_owned(), digest: Some(Digest::of(b"1")) };
        let number = publisher.release("stable", &[change], None, SystemTime::now()).unwrap().unwrap();
        assert_eq!(waiting.join().unwrap(), number);
    });
    assert_eq!(replica.released("stable").unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn the_file_and_its_directory_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a").join("b").join("store.db");
    SqliteStore::open(&path).unwrap().append(&[event()]).unwrap();
    let check = |path: &Path, expect: u32| {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expect, "{} {mode:o}", path.display());
    };
    check(&path, 0o600);
    check(path.parent().unwrap(), 0o700);
    let _open = SqliteStore::open(&path).unwrap();
    check(&path.with_extension("db-wal"), 0o600);
}

#[test]
fn files_that_are_no_store_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let text = "not a database, ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert!(refusal(&path).contains("move it away"), "{}", refusal(&path));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let other = directory.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE events (x)").unwrap();
    assert!(refusal(&other).contains("belongs to another program"));

    assert!(SqliteStore::open("").unwrap_err().chain().contains("not the path of a file"));
    let below_a_file = path.join("store.db");
    assert!(refusal(&below_a_file).contains("cannot be made"));
    assert!(refusal(directory.path()).contains("must be writable"));

    let newer = directory.path().join("newer.db");
    drop(SqliteStore::open(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().execute_batch("INSERT INTO schema VALUES (99)").unwrap();
    assert!(refusal(&newer).contains("a newer version of rep wrote it"));
}

#[test]
fn damaged_pages_are_errors_that_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(&vec![event(); 500]).unwrap();
    store.check().unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    // The first page has the tables; everything behind it is lost.
    bytes[4096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let Ok(store) = SqliteStore::open(&path) else {
        assert!(refusal(&path).contains("move it away"));
        return;
    };
    for error in [
        store.check().unwrap_err(),
        store.events(&EventQuery::default()).unwrap_err(),
        store.append(&[event()]).unwrap_err(),
    ] {
        assert!(
            error.chain().contains("move it away") && error.chain().contains("store.db"),
            "{}",
            error.chain()
        );
    }
}

#[test]
fn a_full_check_finds_damage_in_a_file_of_any_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(&vec![event(); 500]).unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let check = |is_checked_by_all: bool| {
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.check().is_err(), is_checked_by_all);
        let error = store.check_fully().unwrap_err().chain();
        assert!(error.contains("move it away") && !error.contains(['\n', '\\']), "{error}");
    };
    check(true);
    // What follows the last page is not a part of the database.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(65 * 1024 * 1024).unwrap();
    check(false);
}

#[test]
fn a_stored_event_that_is_no_json_is_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    store.append(&[event(), event()]).unwrap();
    for json in ["ZZZZ", "7", "{\"time\":", "x'ff'"] {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute("UPDATE events SET json = ?1 WHERE id = 2", [json]).unwrap();
        let error = store.events(&EventQuery::default()).unwrap_err().chain();
        assert!(error.contains("move it away") && error.contains("event 2 is not JSON"), "{error}");
    }
}

#[test]
fn a_changed_blob_is_detected_and_repaired_by_the_right_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let good = Blob::new(b"good".to_vec());
    store.put_blobs(std::slice::from_ref(&good)).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch("UPDATE blobs SET bytes = x'666f6f64'").unwrap();
    assert_eq!(blob(&store, &good.digest).unwrap_err().kind(), ErrorKind::Corrupt);
    store.put_blobs(std::slice::from_ref(&good)).unwrap();
    assert_eq!(blob(&store, &good.digest).unwrap(), b"good");
}

#[test]
fn a_location_is_a_path_or_an_address() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a:b.db");
    assert_eq!(
        open(path.to_str().unwrap(), &Certificates::none()).unwrap().location(),
        path.to_str().unwrap()
    );
    let error = open("mysql://host/database", &Certificates::none()).map(drop).unwrap_err().chain();
    assert!(error.contains("`mysql` is not a kind of store"), "{error}");
}
