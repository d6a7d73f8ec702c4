//! Grants are listed and taken back. Only an answer makes one.

use crate::{
    change::Change,
    database::Database,
    failure::Failure,
    rows,
    sql::{self, run},
};
use async_trait::async_trait;
use owl_domain::{
    consent::{By, Grant},
    ids::{ConversationId, GrantId},
    ports::{Grants, RevokedGrants, StoreError},
    time::Timestamp,
    turn::{About, EventBody},
};
use rusqlite::params;

const LIST: &str =
    concat!("SELECT ", rows::grant_columns!(), " FROM grants g WHERE (?1 OR g.revoked_at IS NULL) ORDER BY g.id DESC");
const LIST_OF: &str = concat!(
    "SELECT ",
    rows::grant_columns!(),
    " FROM grants g WHERE (?1 OR g.revoked_at IS NULL) AND g.conversation = ?2 ORDER BY g.id DESC"
);
const REVOKE: &str = "UPDATE grants SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";

/// The Grants port over the database.
pub(crate) struct SqliteGrants(pub(crate) Database);

#[async_trait]
impl Grants for SqliteGrants {
    async fn list(
        &self,
        conversation: Option<ConversationId>,
        revoked: RevokedGrants,
    ) -> Result<Vec<Grant>, StoreError> {
        let all = revoked == RevokedGrants::Included;
        self.0
            .read(move |db| match conversation {
                None => sql::all(db, LIST, [all], rows::read_grant),
                Some(of) => sql::all(db, LIST_OF, params![all, of.number()], rows::read_grant),
            })
            .await
    }

    async fn revoke(&self, id: GrantId, by: By, now: Timestamp) -> Result<Option<Grant>, StoreError> {
        self.0.write(now, move |change| revoke(change, id, by)).await
    }
}

fn revoke(change: &mut Change<'_>, id: GrantId, by: By) -> Result<Option<Grant>, Failure> {
    let revoked = run(change.db(), REVOKE, [id.number(), change.now_ms()])?;
    let grant = rows::grant(change.db(), id)?;
    if let Some(grant) = &grant
        && revoked > 0
    {
        let about = About::Conversation(grant.conversation, None);
        change.tell(about, EventBody::GrantRevoked { grant: grant.clone(), by })?;
    }
    Ok(grant)
}
