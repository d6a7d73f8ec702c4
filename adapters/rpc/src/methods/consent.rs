//! `consent.*` and `grants.*`.

use super::{Api, fields};
use crate::{
    caller::Caller,
    error::{self, RpcError},
    params::{Name, Reason, checked, invalid},
    table::Table,
    wire::{Answered, Grant, Listed, PageOf, Proposal},
};
use owl_domain::{
    consent::{Answer, Outcome, Said},
    gate::Digest,
    ids::ProposalId,
    ports::{AnswerError, ProposalFilter, ProposalState, RevokedGrants},
    text::Reason as Why,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Those of one Conversation.
    conversation_id: Option<String>,
    /// In which state; `pending` when left out.
    state: Option<Name<StateParam>>,
    /// 1 to 200, 50 when left out.
    limit: Option<i64>,
    /// Where the page before ended.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateParam {
    Pending,
    Allowed,
    Denied,
    Expired,
    Cancelled,
    All,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProposalParams {
    /// Its id.
    proposal_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerParams {
    /// To which Proposal.
    proposal_id: String,
    /// What is said.
    decision: Name<DecisionParam>,
    /// With `allow`: later ones like it in this Conversation need no answer.
    remember: Option<Name<RememberParam>>,
    /// The digest that was shown.
    digest: Option<String>,
    /// With `deny`: why; the model is told.
    reason: Option<String>,
    /// Where the client believes the Proposal is.
    conversation_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecisionParam {
    Allow,
    Deny,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RememberParam {
    Conversation,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrantsParams {
    /// Those of one Conversation.
    conversation_id: Option<String>,
    /// Also those that were taken back.
    include_revoked: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrantParams {
    /// Its id.
    grant_id: String,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    let at = api.clone();
    let errors = &[&error::NOT_FOUND, &error::CURSOR_INVALID];
    table.read("consent.list", "Lists Proposals, oldest first.", errors, move |_, given: ListParams| {
        list(at.clone(), given)
    });

    let at = api.clone();
    table.read("consent.get", "Returns one Proposal.", &[&error::NOT_FOUND], move |_, given: ProposalParams| {
        let api = at.clone();
        async move {
            let found = api.chat.proposal(fields::id("proposal", &given.proposal_id)?).await?;
            let found = found.as_ref().map(Proposal::from);
            found.ok_or_else(|| RpcError::not_found("proposal", given.proposal_id))
        }
    });

    let at = api.clone();
    let summary = "Answers a Proposal, once; says who decided it when somebody else did.";
    let errors = &[&error::NOT_FOUND, &error::CONVERSATION_MISMATCH, &error::STALE, &error::ALREADY_RESOLVED];
    table.change("consent.answer", summary, errors, move |caller, given: AnswerParams| {
        answer(at.clone(), caller, given)
    });

    let at = api.clone();
    table.read("grants.list", "Lists Grants, newest first.", &[&error::NOT_FOUND], move |_, given: GrantsParams| {
        let api = at.clone();
        async move {
            let conversation = fields::maybe_conversation(&api, given.conversation_id.as_deref()).await?;
            let revoked =
                if given.include_revoked == Some(true) { RevokedGrants::Included } else { RevokedGrants::LeftOut };
            let grants = api.chat.grants(conversation, revoked).await?;
            Ok(Listed { items: grants.iter().map(Grant::from).collect() })
        }
    });

    let at = api.clone();
    let summary = "Takes a Grant back; again changes nothing.";
    table.change("grants.revoke", summary, &[&error::NOT_FOUND], move |caller, given: GrantParams| {
        let api = at.clone();
        async move {
            let revoked = api.chat.revoke(fields::id("grant", &given.grant_id)?, caller.peer().clone()).await?;
            let revoked = revoked.as_ref().map(Grant::from);
            revoked.ok_or_else(|| RpcError::not_found("grant", given.grant_id))
        }
    });
}

async fn list(api: Arc<Api>, given: ListParams) -> Result<PageOf<Proposal>, RpcError> {
    let state = match given.state.map(|state| state.0) {
        None | Some(StateParam::Pending) => ProposalState::Pending,
        Some(StateParam::Allowed) => ProposalState::Decided(Outcome::Allowed),
        Some(StateParam::Denied) => ProposalState::Decided(Outcome::Denied),
        Some(StateParam::Expired) => ProposalState::Decided(Outcome::Expired),
        Some(StateParam::Cancelled) => ProposalState::Decided(Outcome::Cancelled),
        Some(StateParam::All) => ProposalState::All,
    };
    let page = fields::page(given.limit, given.cursor)?;
    let conversation = fields::maybe_conversation(&api, given.conversation_id.as_deref()).await?;
    let listed = api.chat.proposals(ProposalFilter { conversation, state }, page).await?;
    Ok(PageOf::of(listed, |proposal| Proposal::from(&proposal)))
}

async fn answer(api: Arc<Api>, caller: Arc<Caller>, given: AnswerParams) -> Result<Answered, RpcError> {
    let verdict = match (given.decision.0, given.remember.map(|remember| remember.0), given.reason) {
        (DecisionParam::Allow, None, None) => Said::AllowOnce,
        (DecisionParam::Allow, Some(RememberParam::Conversation), None) => Said::AllowForConversation,
        (DecisionParam::Deny, None, None) => Said::Deny(None),
        (DecisionParam::Deny, None, Some(reason)) => Said::Deny(Some(checked("reason", Why::new(reason))?)),
        (DecisionParam::Deny, Some(_), _) => {
            return Err(invalid("remember", Reason::Value, "only with `allow`"));
        }
        (DecisionParam::Allow, _, Some(_)) => return Err(invalid("reason", Reason::Value, "only with `deny`")),
    };
    let proposal = fields::id("proposal", &given.proposal_id)?;
    let conversation = match given.conversation_id.as_deref().map(str::parse) {
        None => None,
        Some(Ok(conversation)) => Some(conversation),
        Some(Err(_)) => return Err(elsewhere(&api, proposal, &given.proposal_id).await?),
    };
    let digest = given.digest.map(Digest::as_written);
    let answer = Answer { proposal, verdict, digest, conversation };
    match api.chat.answer(answer, caller.peer().clone()).await {
        Ok(answered) => Ok(Answered::from(&answered)),
        Err(error) => Err(RpcError::answer(error, &given.proposal_id)),
    }
}

/// Says where a Proposal is that a client believes to be in a Conversation which cannot be.
async fn elsewhere(api: &Api, proposal: ProposalId, given: &str) -> Result<RpcError, RpcError> {
    let error = match api.chat.proposal(proposal).await? {
        Some(found) => AnswerError::ConversationMismatch { conversation: found.conversation },
        None => AnswerError::NotFound,
    };
    Ok(RpcError::answer(error, given))
}
