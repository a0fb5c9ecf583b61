//! Tests of the PostgreSQL store.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use repertoire::ErrorKind;
use repertoire::certificates::Certificates;
use repertoire::event::{Event, EventKind};
use repertoire::store::{
    Blob, EventQuery, Journal as _, ReleaseChange, Releases as _, Store as _, Versions as _, blob,
};
use repertoire_model::bundle::Digest;
use repertoire_store::PostgresStore;

use crate::server::{Server, connect, shared};
use crate::sqlite::check_provider;
use crate::store_suite;

fn event() -> Event {
    Event::new(EventKind::SkillLoaded, "load_skill", "s1", SystemTime::now())
}

#[test]
fn the_postgres_store_passes_the_conformance_suite() {
    let Some(server) = shared() else { return };
    store_suite::check(&|| Arc::new(PostgresStore::open(&server.database(), &Certificates::none()).unwrap()));
}

/// Changes the tables as a newer version may within the same minor version.
const NEWER: &str = "
    DO $$ DECLARE found RECORD; BEGIN
        FOR found IN SELECT tablename FROM pg_tables WHERE schemaname = 'repertoire' LOOP
            EXECUTE format('ALTER TABLE repertoire.%I ADD COLUMN added BIGINT NOT NULL DEFAULT 0', found.tablename);
        END LOOP;
    END $$;
    CREATE TABLE repertoire.added (id BIGINT PRIMARY KEY);
    INSERT INTO repertoire.schema (number) VALUES (99);";

#[test]
fn a_running_server_goes_on_after_a_newer_version_added_to_the_tables() {
    let Some(server) = shared() else { return };
    store_suite::check(&|| {
        let url = server.database();
        let store = PostgresStore::open(&url, &Certificates::none()).unwrap();
        connect(&url).batch_execute(NEWER).unwrap();
        Arc::new(store)
    });
}

#[test]
fn skills_in_postgres_pass_the_suite_of_providers() {
    let Some(server) = shared() else { return };
    check_provider(Arc::new(PostgresStore::open(&server.database(), &Certificates::none()).unwrap()));
}

#[test]
fn many_servers_at_once_make_the_tables_once() {
    let Some(server) = shared() else { return };
    let url = server.database();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                PostgresStore::open(&url, &Certificates::none()).unwrap().append(&[event()]).unwrap()
            });
        }
    });
    let store = PostgresStore::open(&url, &Certificates::none()).unwrap();
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 8);
    assert_eq!(store.schema_version().unwrap(), 4);
}

#[test]
fn processes_that_share_the_database_are_counted() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let one = PostgresStore::open(&url, &Certificates::none()).unwrap();
    assert_eq!(one.processes().unwrap(), Some(1));
    let other = PostgresStore::open(&url, &Certificates::none()).unwrap();
    other.append(&[event()]).unwrap();
    assert_eq!(one.processes().unwrap(), Some(2));
}

#[test]
fn a_release_of_one_server_wakes_the_others() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let publisher = PostgresStore::open(&url, &Certificates::none()).unwrap();
    let replica = PostgresStore::open(&url, &Certificates::none()).unwrap();
    let change = |content: &[u8]| ReleaseChange { name: "a".to_owned(), digest: Some(Digest::of(content)) };
    let release =
        |content| publisher.release("stable", &[change(content)], None, SystemTime::now()).unwrap().unwrap();
    thread::scope(|scope| {
        // One is told by the database, the other looks.
        let waiting: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| replica.wait_for_release(0, Duration::from_secs(60)).unwrap()))
            .collect();
        let number = release(b"1");
        assert!(waiting.into_iter().all(|waiting| waiting.join().unwrap() == number));
    });
    assert_eq!(replica.wait_for_release(1, Duration::ZERO).unwrap(), 1);
    assert_eq!(release(b"2"), 2);
    assert_eq!(replica.wait_for_release(1, Duration::from_secs(60)).unwrap(), 2);
}

#[test]
fn a_store_recovers_when_the_server_is_restarted() {
    let Some(server) = Server::start() else { return };
    let url = server.database();
    let store = PostgresStore::open(&url, &Certificates::none()).unwrap();
    store.append(&[event()]).unwrap();
    store.wait_for_release(0, Duration::ZERO).unwrap();
    server.kill();
    let error = store.append(&[event()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.chain().contains(&store.location()), "{}", error.chain());
    assert!(store.events(&EventQuery::default()).is_err());
    assert!(store.wait_for_release(0, Duration::ZERO).is_err());
    assert!(PostgresStore::open(&url, &Certificates::none()).is_err());
    server.resume();
    store.append(&[event()]).unwrap();
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 2);
    assert_eq!(store.wait_for_release(0, Duration::ZERO).unwrap(), 0);
    // Idle connections that broke meanwhile are replaced without an error.
    server.kill();
    server.resume();
    store.append(&[event()]).unwrap();
    assert_eq!(store.wait_for_release(0, Duration::ZERO).unwrap(), 0);
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 3);
}

#[test]
fn nobody_waits_for_a_server_that_does_not_answer() {
    let Some(server) = Server::start() else { return };
    let url = server.database();
    let store = PostgresStore::open_to_serve(&url, &Certificates::none()).unwrap();
    store.append(&[event()]).unwrap();
    store.wait_for_release(0, Duration::ZERO).unwrap();
    let paused = server.pause();
    // More callers than there are connections.
    thread::scope(|scope| {
        let readers: Vec<_> =
            (0..20).map(|_| scope.spawn(|| store.events(&EventQuery::default()).unwrap_err())).collect();
        let writer = scope.spawn(|| store.append(&[event()]).unwrap_err());
        let listener = scope.spawn(|| store.wait_for_release(0, Duration::from_secs(600)).unwrap_err());
        for caller in readers.into_iter().chain([writer, listener]) {
            let error = caller.join().unwrap();
            assert_eq!(error.kind(), ErrorKind::Store);
            assert!(error.chain().contains("does not answer"), "{}", error.chain());
        }
    });
    // Nobody who opens it now waits without end.
    for open in [PostgresStore::open_to_serve, PostgresStore::open] {
        let error = open(&format!("{url}?connect_timeout=1"), &Certificates::none()).unwrap_err().chain();
        assert!(error.contains("does not answer"), "{error}");
    }
    drop(paused);
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = store.append(&[event()]) {
        assert!(Instant::now() < deadline, "{}", error.chain());
        thread::yield_now();
    }
    // What was given up while the server was stopped has no effect.
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 2);
    assert_eq!(store.wait_for_release(0, Duration::ZERO).unwrap(), 0);
}

/// To connect takes several answers, and together they take longer than a server that is known has for one.
#[test]
fn a_server_far_away_is_opened() {
    let Some(server) = shared() else { return };
    let delay = Duration::from_millis(450);
    let store =
        PostgresStore::open_to_serve(&server.delayed_url(&server.database(), delay), &Certificates::none())
            .unwrap();
    store.append(&[event()]).unwrap();
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
}

#[test]
fn a_statement_that_takes_long_is_waited_for() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let store = PostgresStore::open_to_serve(&url, &Certificates::none()).unwrap();
    thread::scope(|scope| {
        let ((locked, is_locked), mut client) = (mpsc::channel(), connect(&url));
        let holder = move || {
            // The lock of events.
            client.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(x'726570650002'::bigint)").unwrap();
            locked.send(()).unwrap();
            client.batch_execute("SELECT pg_sleep(3); COMMIT").unwrap();
        };
        scope.spawn(holder);
        is_locked.recv().unwrap();
        store.append(&[event()]).unwrap();
    });
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
}

#[test]
fn a_changed_blob_is_detected() {
    let Some(server) = shared() else { return };
    let url = server.database();
    let store = PostgresStore::open(&url, &Certificates::none()).unwrap();
    let good = Blob::new(b"good".to_vec());
    store.put_blobs(std::slice::from_ref(&good)).unwrap();
    connect(&url).batch_execute("UPDATE repertoire.blobs SET bytes = 'food'").unwrap();
    assert_eq!(blob(&store, &good.digest).unwrap_err().kind(), ErrorKind::Corrupt);
    store.put_blobs(std::slice::from_ref(&good)).unwrap();
    assert_eq!(blob(&store, &good.digest).unwrap(), b"good");
}

#[test]
fn errors_name_the_database_and_not_the_password() {
    let Some(server) = shared() else { return };
    let url = server.url("none").replace("rep@", "rep:secret@");
    let error = PostgresStore::open(&url, &Certificates::none()).unwrap_err().chain();
    assert!(error.contains("\"none\" does not exist") && !error.contains("secret"), "{error}");
    let url = server.database();
    connect(&url).batch_execute("CREATE SCHEMA repertoire; CREATE TABLE repertoire.schema (number BIGINT PRIMARY KEY); INSERT INTO repertoire.schema VALUES (99)").unwrap();
    let error = PostgresStore::open(&url, &Certificates::none()).unwrap_err().chain();
    assert!(error.contains("a newer version of rep wrote it"), "{error}");
}

#[test]
fn a_store_may_be_dropped_by_asynchronous_code() {
    let Some(server) = shared() else { return };
    let store = PostgresStore::open(&server.database(), &Certificates::none()).unwrap();
    store.wait_for_release(0, Duration::ZERO).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(store) });
}
