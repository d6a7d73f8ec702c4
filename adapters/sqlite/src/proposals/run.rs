//! A Proposal that was decided is carried out: its start is stored before `execve`, and what came of it once.

use crate::{
    change::Change,
    failure::Failure,
    items::{self, Place},
    rows,
    sql::{self, run},
    turns,
};
use owl_domain::{
    ids::ProposalId,
    ports::{Moved, Settled},
    turn::{CallRef, EventBody},
};
use rusqlite::params;

const START: &str = "UPDATE proposals SET started_at = ?2, pid = ?3
    WHERE id = ?1 AND state = 'allowed' AND started_at IS NULL
      AND EXISTS (SELECT 1 FROM items i WHERE i.id = proposals.item AND i.completed_at IS NULL)
      AND EXISTS (SELECT 1 FROM turns t WHERE t.id = proposals.turn AND t.finished_at IS NULL AND NOT t.cancelling)";
/// One that waits has no result yet, whoever brings one.
const IS_OPEN: &str = "SELECT 1 FROM proposals p JOIN items i ON i.id = p.item
    WHERE p.id = ?1 AND p.turn = ?2 AND p.reply = ?3 AND p.position = ?4
      AND p.state <> 'pending' AND i.completed_at IS NULL";

/// Stores that a Proposal starts. From now on it never starts again.
pub(super) fn start(change: &mut Change<'_>, id: ProposalId, pid: u32) -> Result<Moved, Failure> {
    if run(change.db(), START, params![id.number(), change.now_ms(), pid])? == 0 {
        return Ok(Moved::Lost);
    }
    let proposal = rows::proposal(change.db(), id)?.ok_or(Failure::Gone { what: "this proposal" })?;
    let place = Place { conversation: proposal.conversation, turn: proposal.turn };
    let grant = rows::unasked(proposal.decision.as_ref());
    let (item, shown) = (proposal.item, Box::new(proposal.shown));
    change.tell(place.about(), EventBody::CommandStarted { item, proposal: id, grant, pid, shown })?;
    Ok(Moved::Won)
}

/// Closes the Item of a Proposal's command, and answers its call.
pub(super) fn settle(
    change: &mut Change<'_>,
    id: ProposalId,
    call: CallRef,
    settled: &Settled,
) -> Result<Moved, Failure> {
    let asked = params![id.number(), call.turn.number(), call.reply, call.position];
    if sql::one(change.db(), IS_OPEN, asked, |_| Ok(()))?.is_none() {
        return Ok(Moved::Lost);
    }
    let proposal = rows::proposal(change.db(), id)?.ok_or(Failure::Gone { what: "this proposal" })?;
    let place = Place { conversation: proposal.conversation, turn: proposal.turn };
    items::end_command(change, place, proposal.item, &settled.outcome)?;
    turns::tell(change, call, proposal.item, &settled.told)?;
    Ok(Moved::Won)
}
