//! Usage: calls counted by day.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use repertoire::Error;
use repertoire::event::jsonl::{MAX_IDENTITY_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES, bounded};
use repertoire::event::{Event, EventKind, Outcome};
use repertoire::store::UsageCount;
use repertoire_model::bundle::Digest;

use crate::database::{Connection, TransactionLock, insert};
use crate::value::{Row, SqlValue, milliseconds, time};

/// The most tokens that one event counts, so that sums fit into a column.
const MAX_TOKENS: u64 = u32::MAX as u64;

/// The bytes of a key: half of a SHA-256, so that rows are short.
const KEY_BYTES: usize = 16;

/// Returns the day of `time`, in days since 1970-01-01 UTC.
pub(crate) fn day(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / (24 * 60 * 60)
}

/// The columns that calls are counted by.
type Columns = [Option<String>; 7];

/// The usage of several events, summed up.
#[derive(Debug, Default)]
pub(crate) struct UsageBatch {
    keys: BTreeMap<[u8; KEY_BYTES], Columns>,
    /// The calls, the tokens and the milliseconds of the last call, by key and day.
    days: BTreeMap<([u8; KEY_BYTES], u64), (u64, u64, i64)>,
}

impl UsageBatch {
    /// Counts `event` if it is about a skill, and was not refused.
    pub(crate) fn add(&mut self, event: &Event) {
        let Some(skill) = event.used_skill() else { return };
        let columns = [
            Some(event.kind.as_str().to_owned()),
            Some(event.outcome.as_str().to_owned()),
            Some(bounded(skill, MAX_NAME_BYTES)),
            event.source.as_deref().map(|source| bounded(source, MAX_PATH_BYTES)),
            event.file.as_deref().map(|file| bounded(file, MAX_PATH_BYTES)),
            event.agent.as_deref().map(|agent| bounded(agent, MAX_NAME_BYTES)),
            event.identity.as_deref().map(|identity| bounded(identity, MAX_IDENTITY_BYTES)),
        ];
        let key = key(&columns);
        self.keys.insert(key, columns);
        let last = milliseconds(event.time);
        let (calls, tokens, latest) = self.days.entry((key, day(event.time))).or_insert((0, 0, last));
        *calls += 1;
        *tokens += event.tokens.min(MAX_TOKENS);
        *latest = last.max(*latest);
    }

    /// Adds the sums to those of the database.
    pub(crate) fn write(&self, connection: &mut dyn Connection) -> Result<(), Error> {
        let keys = self.keys.iter().map(|(key, columns)| {
            let [kind, outcome, skill, source, file, agent, identity] =
                columns.each_ref().map(|text| SqlValue::from(text.as_ref()));
            [SqlValue::Bytes(key.to_vec()), kind, outcome, skill, source, file, agent, identity]
        });
        insert(
            connection,
            "INSERT INTO usage_keys (key, kind, outcome, skill, source, file, agent, identity)",
            &keys.collect::<Vec<_>>(),
            "ON CONFLICT (key) DO NOTHING",
        )?;
        let days = self.days.iter().map(|((key, day), (calls, tokens, last))| {
            let key = SqlValue::Bytes(key.to_vec());
            [key, (*day).into(), (*calls).into(), (*tokens).into(), SqlValue::Int(*last)]
        });
        insert(
            connection,
            "INSERT INTO usage (key, day, calls, tokens, last_ms)",
            &days.collect::<Vec<_>>(),
            "ON CONFLICT (key, day) DO UPDATE SET calls = usage.calls + excluded.calls, \
             tokens = usage.tokens + excluded.tokens, \
             last_ms = CASE WHEN excluded.last_ms > usage.last_ms THEN excluded.last_ms ELSE usage.last_ms END",
        )
    }
}

/// Removes the calls before the day of `oldest` that found nothing: agents may ask for any number of names.
pub(crate) fn forget_unknown(connection: &mut dyn Connection, oldest: SystemTime) -> Result<(), Error> {
    // No key may go that an event which is being written counts by.
    connection.lock(TransactionLock::Events)?;
    let outcome = SqlValue::from(Outcome::NotFound.as_str());
    connection.execute(
        "DELETE FROM usage WHERE day < $1 AND key IN (SELECT key FROM usage_keys WHERE outcome = $2)",
        &[day(oldest).into(), outcome.clone()],
    )?;
    connection.execute(
        "DELETE FROM usage_keys WHERE outcome = $1 AND key NOT IN (SELECT key FROM usage)",
        &[outcome],
    )?;
    Ok(())
}

/// Returns the key of `columns`: a hash of them with their lengths.
fn key(columns: &Columns) -> [u8; KEY_BYTES] {
    let mut bytes = Vec::new();
    for column in columns {
        bytes.extend(column.as_ref().map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
        bytes.extend(column.as_deref().unwrap_or_default().as_bytes());
    }
    let mut key = [0; KEY_BYTES];
    key.copy_from_slice(&Digest::of(&bytes).as_bytes()[..KEY_BYTES]);
    key
}

/// Returns the usage in the columns `key` and their `sum`, or `None` if there are no calls any more, or if a
/// newer version counted a kind or outcome that this one does not know.
pub(crate) fn read(mut key: Row, sum: Option<Row>) -> Result<Option<UsageCount>, Error> {
    let (kind, outcome) = (EventKind::parse(&key.text()?), Outcome::parse(&key.text()?));
    let (Some(kind), Some(outcome)) = (kind, outcome) else { return Ok(None) };
    let (skill, source) = (key.text()?, key.optional_text()?);
    let (file, agent, identity) = (key.optional_text()?, key.optional_text()?, key.optional_text()?);
    let Some(last) = key.optional_int()?.map(time) else { return Ok(None) };
    let (calls, tokens) = match sum {
        Some(mut sum) => (sum.number()?, sum.number()?),
        None => (0, 0),
    };
    Ok(Some(UsageCount { kind, outcome, skill, source, identity, file, agent, calls, tokens, last }))
}
