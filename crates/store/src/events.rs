//! The journal of events.

use std::collections::HashMap;
use std::time::SystemTime;

use repertoire::event::jsonl::{self, MAX_NAME_BYTES, bounded};
use repertoire::event::{Event, EventKind, Outcome};
use repertoire::store::{DailyLoads, EventQuery, Journal, JournalLine, Retention, UsageCount};
use repertoire::{Error, ErrorKind};

use crate::SqlStore;
use crate::database::{Database, Durability, TransactionLock, insert};
use crate::usage::{self, UsageBatch, day};
use crate::value::SqlValue;

impl<D: Database> Journal for SqlStore<D> {
    fn append(&self, events: &[Event]) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(events.len());
        let mut usage = UsageBatch::default();
        for event in events {
            let json = jsonl::line(event).map_err(|error| Error::new(ErrorKind::Store).because(error))?;
            rows.push([
                event.time.into(),
                event.skill.as_deref().map(|skill| bounded(skill, MAX_NAME_BYTES)).as_ref().into(),
                event.agent.as_deref().map(|agent| bounded(agent, MAX_NAME_BYTES)).as_ref().into(),
                SqlValue::Text(json),
            ]);
            usage.add(event);
        }
        self.database.write(Durability::Relaxed, |connection| {
            connection.lock(TransactionLock::Events)?;
            insert(connection, "INSERT INTO events (time_ms, skill, agent, json)", &rows, "")?;
            usage.write(connection)
        })
    }

    fn events(&self, query: &EventQuery) -> Result<Vec<JournalLine>, Error> {
        let name = |text: &String| bounded(text, MAX_NAME_BYTES);
        let mut values: Vec<SqlValue> = Vec::new();
        let mut sql = "SELECT id, json FROM events WHERE 1 = 1".to_owned();
        for (condition, value) in [
            ("id >", query.after.map(SqlValue::from)),
            ("id <", query.before.map(SqlValue::from)),
            ("time_ms >=", query.since.map(SqlValue::from)),
            ("skill =", query.skill.as_ref().map(|skill| SqlValue::from(&name(skill)))),
            ("agent =", query.agent.as_ref().map(|agent| SqlValue::from(&name(agent)))),
        ] {
            if let Some(value) = value {
                values.push(value);
                sql.push_str(&format!(" AND {condition} ${}", values.len()));
            }
        }
        let order = if query.after.is_some() { "ASC" } else { "DESC" };
        values.push(SqlValue::from(query.limit as u64));
        sql.push_str(&format!(" ORDER BY id {order} LIMIT ${}", values.len()));
        let mut lines = self.database.read(|connection| {
            let rows = connection.query(&sql, &values)?;
            let mut lines: Vec<JournalLine> = Vec::with_capacity(rows.len());
            for mut row in rows {
                let (id, json) = (row.number()?, row.text()?);
                if !jsonl::is_line(&json) {
                    return Err(connection.damage(&format!("event {id} is not JSON")));
                }
                lines.push(JournalLine { id, json });
            }
            Ok(lines)
        })?;
        if query.after.is_none() {
            lines.reverse();
        }
        Ok(lines)
    }

    fn usage(&self, since: Option<SystemTime>) -> Result<Vec<UsageCount>, Error> {
        let first = since.map_or(0, day);
        // Two scans joined here are faster than a join by SQLite. Keys are read last, so that none is
        // missing. The last call is on the last day: a lookup per key is faster than a maximum over all days.
        let (sums, keys) = self.database.read(|connection| {
            let sums = "SELECT key, CAST(sum(calls) AS BIGINT), CAST(sum(tokens) AS BIGINT) FROM usage \
                        WHERE day >= $1 GROUP BY key";
            let keys = "SELECT key, kind, outcome, skill, source, file, agent, identity, \
                        (SELECT last_ms FROM usage u WHERE u.key = k.key ORDER BY day DESC LIMIT 1) FROM usage_keys k";
            Ok((connection.query(sums, &[first.into()])?, connection.query(keys, &[])?))
        })?;
        let mut sums_by_key = HashMap::with_capacity(sums.len());
        for mut sum in sums {
            sums_by_key.insert(sum.bytes()?, sum);
        }
        let mut usage = Vec::with_capacity(keys.len());
        for mut key in keys {
            let sum = sums_by_key.remove(&key.bytes()?);
            usage.extend(usage::read(key, sum)?);
        }
        Ok(usage)
    }

    fn daily_loads(&self, since: SystemTime) -> Result<Vec<DailyLoads>, Error> {
        let rows = self.database.read(|connection| {
            connection.query(
                "SELECT k.skill, k.identity, u.day, CAST(sum(u.calls) AS BIGINT) FROM usage_keys k \
                 JOIN usage u ON u.key = k.key \
                 WHERE k.kind = $1 AND k.outcome = $2 AND k.file IS NULL AND u.day >= $3 \
                 GROUP BY k.skill, k.identity, u.day ORDER BY k.skill, k.identity IS NOT NULL, k.identity, u.day",
                &[
                    EventKind::SkillLoaded.as_str().into(),
                    Outcome::Ok.as_str().into(),
                    SqlValue::from(day(since)),
                ],
            )
        })?;
        let read = |mut row: crate::value::Row| {
            let (skill, identity) = (row.text()?, row.optional_text()?);
            Ok(DailyLoads { skill, identity, day: row.number()?, loads: row.number()? })
        };
        rows.into_iter().map(read).collect()
    }

    fn prune(&self, retention: Retention, now: SystemTime) -> Result<u64, Error> {
        let oldest = now.checked_sub(retention.age);
        if let Some(oldest) = oldest {
            self.database
                .write(Durability::Relaxed, |connection| usage::forget_unknown(connection, oldest))?;
        }
        self.database.write(Durability::Relaxed, |connection| {
            let mut removed = 0;
            if let Some(oldest) = oldest {
                removed += connection.execute("DELETE FROM events WHERE time_ms < $1", &[oldest.into()])?;
            }
            removed += connection.execute(
                "DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET $1)",
                &[retention.events.into()],
            )?;
            Ok(removed)
        })
    }
}
