//! The port of Grants.

use super::MemoryTurns;
use owl_domain::{
    consent::{By, Grant},
    ids::{ConversationId, GrantId},
    ports::{Grants, RevokedGrants, StoreError},
    time::Timestamp,
    turn::{About, EventBody},
};

#[async_trait::async_trait]
impl Grants for MemoryTurns {
    async fn list(
        &self,
        conversation: Option<ConversationId>,
        revoked: RevokedGrants,
    ) -> Result<Vec<Grant>, StoreError> {
        let mut grants = self.read(super::Rows::grants).await;
        grants.reverse();
        grants.retain(|grant| {
            conversation.is_none_or(|named| named == grant.conversation)
                && (revoked == RevokedGrants::Included || grant.revoked_at.is_none())
        });
        Ok(grants)
    }

    async fn revoke(&self, id: GrantId, by: By, now: Timestamp) -> Result<Option<Grant>, StoreError> {
        self.change(|rows| {
            let grant = rows.grants.get_mut(&id)?;
            let is_new = grant.revoked_at.is_none();
            grant.revoked_at = grant.revoked_at.or(Some(now));
            let grant = grant.clone();
            if is_new {
                let about = About::Conversation(grant.conversation, None);
                rows.tell(about, now, EventBody::GrantRevoked { grant: grant.clone(), by });
            }
            Some(grant)
        })
        .await
    }
}
