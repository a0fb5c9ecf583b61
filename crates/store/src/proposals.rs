//! Proposals and the decisions about them.

use repertoire::Error;
use repertoire::store::{
    AGENT_PREFIX, FREE_RULE, NewProposal, Proposal, ProposalDecision, ProposalKind, ProposalLimits,
    ProposalState, Proposals, Submission,
};

use crate::SqlStore;
use crate::database::{Connection, Database, Durability, TransactionLock, parameters};
use crate::value::{Row, SqlValue, time};

/// The columns that a new proposal fills.
const CONTENT: &str = "id, kind, skill, name, base, result, diff, justification, evidence, findings, author, session, \
                       time_ms, replaces, state";

impl<D: Database> Proposals for SqlStore<D> {
    fn submit(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Submission, Error> {
        self.database.write(Durability::Full, |connection| {
            connection.lock(TransactionLock::Proposals)?;
            if let Some(refusal) = refusal(connection, proposal, limits)? {
                return Ok(refusal);
            }
            if let Some(replaced) = proposal.replaces {
                connection.execute(
                    "UPDATE proposals SET state = $1 WHERE id = $2 AND state IN ($3, $4)",
                    &[
                        ProposalState::Superseded.as_str().into(),
                        replaced.into(),
                        ProposalState::Pending.as_str().into(),
                        ProposalState::Stale.as_str().into(),
                    ],
                )?;
            }
            let last = connection.query_number("SELECT coalesce(max(id), 0) FROM proposals", &[])?;
            let values = content(last + 1, proposal);
            connection.execute(
                &format!("INSERT INTO proposals ({CONTENT}) VALUES ({})", parameters(1, values.len())),
                &values,
            )?;
            Ok(Submission::Accepted(last + 1))
        })
    }

    fn refusal(&self, proposal: &NewProposal, limits: ProposalLimits) -> Result<Option<Submission>, Error> {
        self.database.read(|connection| refusal(connection, proposal, limits))
    }

    fn proposal(&self, id: u64) -> Result<Option<Proposal>, Error> {
        let sql = format!("SELECT {CONTENT}, reviewer, reason, decided_ms FROM proposals WHERE id = $1");
        let row = self.database.read(|connection| connection.query_first(&sql, &[id.into()]))?;
        row.map(read).transpose()
    }

    fn proposals(&self, states: &[ProposalState]) -> Result<Vec<Proposal>, Error> {
        let mut sql = format!("SELECT {CONTENT}, reviewer, reason, decided_ms FROM proposals");
        if !states.is_empty() {
            sql.push_str(&format!(" WHERE state IN ({})", parameters(1, states.len())));
        }
        sql.push_str(" ORDER BY id DESC");
        let values: Vec<SqlValue> = states.iter().map(|state| state.as_str().into()).collect();
        let rows = self.database.read(|connection| connection.query(&sql, &values))?;
        rows.into_iter().map(read).collect()
    }

    fn decide(
        &self,
        id: u64,
        from: ProposalState,
        to: ProposalState,
        decision: Option<&ProposalDecision>,
    ) -> Result<bool, Error> {
        let mut values = vec![to.as_str().into(), id.into(), from.as_str().into()];
        let sql = match decision {
            None => "UPDATE proposals SET state = $1 WHERE id = $2 AND state = $3",
            Some(ProposalDecision { reviewer, reason, time }) => {
                values.splice(1..1, [reviewer.into(), reason.as_ref().into(), (*time).into()]);
                "UPDATE proposals SET state = $1, reviewer = $2, reason = $3, decided_ms = $4 WHERE id = $5 AND state = $6"
            }
        };
        let changed = self.database.write(Durability::Full, |connection| connection.execute(sql, &values))?;
        Ok(changed > 0)
    }
}

/// Returns the reason not to accept `proposal`, if there is one.
fn refusal(
    connection: &mut dyn Connection,
    proposal: &NewProposal,
    limits: ProposalLimits,
) -> Result<Option<Submission>, Error> {
    let pending = ProposalState::Pending.as_str();
    // The same change of another base was rejected, too.
    let same = connection.query_first(
        "SELECT id, state FROM proposals WHERE skill = $1 \
         AND (result = $2 AND base IS NOT DISTINCT FROM $3 AND state IN ($4, $5) OR state = $5 AND diff = $6) \
         ORDER BY id LIMIT 1",
        &[
            SqlValue::from(&proposal.skill),
            SqlValue::from(&proposal.result),
            proposal.base.as_ref().into(),
            pending.into(),
            ProposalState::Rejected.as_str().into(),
            SqlValue::from(&proposal.diff),
        ],
    )?;
    if let Some(mut row) = same {
        let (id, state) = (row.number()?, row.text()?);
        let refusal = if state == pending { Submission::Duplicate(id) } else { Submission::Rejected(id) };
        return Ok(Some(refusal));
    }
    // Numbers begin with 1.
    let replaced = proposal.replaces.unwrap_or(0);
    let for_skill = connection.query_number(
        "SELECT count(*) FROM proposals WHERE skill = $1 AND state = $2 AND id <> $3",
        &[SqlValue::from(&proposal.skill), pending.into(), replaced.into()],
    )?;
    if for_skill >= limits.per_skill {
        return Ok(Some(Submission::TooManyForSkill));
    }
    let of_session = connection.query_number(
        "SELECT count(*) FROM proposals WHERE session = $1 AND (state = $2 AND id <> $3 OR state = $4 AND reviewer = $5)",
        &[
            proposal.session.as_ref().into(),
            pending.into(),
            replaced.into(),
            ProposalState::Applied.as_str().into(),
            FREE_RULE.into(),
        ],
    )?;
    if of_session >= limits.per_session {
        return Ok(Some(Submission::TooManyForSession));
    }
    if !proposal.is_by_agent() {
        return Ok(None);
    }
    let total = connection.query_number(
        "SELECT count(*) FROM proposals WHERE state = $1 AND id <> $2 AND author LIKE $3",
        &[pending.into(), replaced.into(), SqlValue::from(&format!("{AGENT_PREFIX}%"))],
    )?;
    Ok((total >= limits.total).then_some(Submission::TooMany))
}

fn content(id: u64, proposal: &NewProposal) -> [SqlValue; 15] {
    [
        id.into(),
        proposal.kind.as_str().into(),
        SqlValue::from(&proposal.skill),
        SqlValue::from(&proposal.name),
        proposal.base.as_ref().into(),
        SqlValue::from(&proposal.result),
        SqlValue::from(&proposal.diff),
        SqlValue::from(&proposal.justification),
        proposal.evidence.as_ref().into(),
        SqlValue::from(&proposal.check),
        SqlValue::from(&proposal.author),
        proposal.session.as_ref().into(),
        proposal.time.into(),
        proposal.replaces.into(),
        ProposalState::Pending.as_str().into(),
    ]
}

/// Returns the proposal in `row`: [`CONTENT`] and the decision.
fn read(mut row: Row) -> Result<Proposal, Error> {
    let id = row.number()?;
    let content = NewProposal {
        kind: row.word(ProposalKind::parse)?,
        skill: row.text()?,
        name: row.text()?,
        base: row.optional_digest()?,
        result: row.digest()?,
        diff: row.text()?,
        justification: row.text()?,
        evidence: row.optional_text()?,
        check: row.text()?,
        author: row.text()?,
        session: row.optional_text()?,
        time: row.time()?,
        replaces: row.optional_int()?.map(i64::unsigned_abs),
    };
    let state = row.word(ProposalState::parse)?;
    let (reviewer, reason) = (row.optional_text()?, row.optional_text()?);
    let decision = match (reviewer, row.optional_int()?) {
        (Some(reviewer), Some(decided)) => Some(ProposalDecision { reviewer, reason, time: time(decided) }),
        _ => None,
    };
    Ok(Proposal { id, content, state, decision })
}
