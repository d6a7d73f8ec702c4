//! A Conversation is made or changed.

use crate::{
    change::Change,
    failure::Failure,
    keys::{self, Known, Scope},
    rows, search,
    sql::{self, must},
};
use owl_domain::{
    conversation::{Conversation, automatic_title},
    ids::ConversationId,
    ports::{ConversationChange, CreateError, Created, NewConversation, UpdateError},
    provider::ModelRef,
    text::{AbsPath, ProjectName, Title},
    turn::{About, EventBody},
};
use rusqlite::params;

const ROOT: &str = "SELECT root FROM projects WHERE name = ?1";
const INSERT: &str = "INSERT INTO conversations
    (title, title_given, workdir, project_root, provider, model, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) RETURNING id";
const TITLE: &str = "SELECT title, title_given FROM conversations WHERE id = ?1";
const FIRST_QUESTION: &str = "SELECT text FROM items WHERE conversation = ?1 AND kind = 'user' ORDER BY seq LIMIT 1";
const SET_TITLE: &str = "UPDATE conversations SET title = ?2, title_given = ?3 WHERE id = ?1";
const SET_WORKDIR: &str = "UPDATE conversations SET workdir = ?2, project_root = ?3 WHERE id = ?1";
const SET_MODEL: &str = "UPDATE conversations SET provider = ?2, model = ?3 WHERE id = ?1";
const SET_ARCHIVED: &str = "UPDATE conversations SET archived = ?2 WHERE id = ?1";
const CHANGED: &str = "UPDATE conversations SET version = version + 1, updated_at = ?2 WHERE id = ?1";

/// What an update that touched no row means.
const WHAT: &str = "this conversation";

/// Makes a Conversation, unless an earlier call with the same key did.
pub(super) fn create(change: &mut Change<'_>, new: &NewConversation) -> Result<Result<Created, CreateError>, Failure> {
    if let Some(once) = &new.once {
        keys::forget_old(change)?;
        match keys::find(change.db(), Scope::Create, once)? {
            Known::New => {}
            Known::Mismatch => return Ok(Err(CreateError::Mismatch)),
            Known::Made { conversation: id, .. } => {
                let conversation = rows::conversation(change.db(), id)?.ok_or(Failure::Gone { what: WHAT })?;
                return Ok(Ok(Created { conversation, duplicate: true }));
            }
        }
    }
    let root = new.project.as_ref().map(|project| root(change, project)).transpose()?.flatten();
    let row = params![
        new.title.as_ref().map_or("", Title::as_str),
        new.title.is_some(),
        new.workdir.as_ref().map(AbsPath::as_str),
        root,
        new.model.as_ref().map(|model| model.provider.name()),
        new.model.as_ref().map(|model| model.id.as_str()),
        change.now_ms(),
    ];
    let id = sql::sure(change.db(), INSERT, row, |row| row.id(ConversationId::new))?;
    if let Some(title) = &new.title {
        search::add_title(change.db(), id, title.as_str())?;
    }
    if let Some(once) = &new.once {
        keys::store(change, Scope::Create, once, id, None)?;
    }
    let conversation = tell(change, id, EventBody::ConversationCreated)?;
    Ok(Ok(Created { conversation, duplicate: false }))
}

/// Tells how a Conversation is now, with the number of this very event as its newest.
pub(crate) fn tell(
    change: &mut Change<'_>,
    id: ConversationId,
    body: fn(Conversation) -> EventBody,
) -> Result<Conversation, Failure> {
    let seq = change.next_seq()?;
    let now = rows::conversation(change.db(), id)?.ok_or(Failure::Gone { what: WHAT })?;
    let now = Conversation { last_seq: Some(seq), ..now };
    change.tell(About::Conversation(id, None), body(now.clone()))?;
    Ok(now)
}

fn root(change: &Change<'_>, project: &ProjectName) -> Result<Option<String>, Failure> {
    sql::one(change.db(), ROOT, [project.as_str()], |row| row.next())
}

/// Changes a Conversation, and tells it when something differs.
pub(super) fn update(
    change: &mut Change<'_>,
    id: ConversationId,
    wanted: &ConversationChange,
) -> Result<Result<Conversation, UpdateError>, Failure> {
    let Some(before) = rows::conversation(change.db(), id)? else {
        return Ok(Err(UpdateError::NotFound));
    };
    if wanted.if_version.is_some_and(|version| version != before.version) {
        return Ok(Err(UpdateError::Version { version: before.version }));
    }
    if let Some(title) = &wanted.title {
        set_title(change, id, title.as_ref())?;
    }
    if let Some(workdir) = &wanted.workdir {
        set_workdir(change, id, workdir.as_ref())?;
    }
    if let Some(model) = &wanted.model {
        set_model(change, id, model.as_ref())?;
    }
    if let Some(archived) = wanted.archived {
        must(change.db(), SET_ARCHIVED, params![id.number(), archived], WHAT)?;
    }
    let after = rows::conversation(change.db(), id)?.ok_or(Failure::Gone { what: WHAT })?;
    if after == before {
        return Ok(Ok(before));
    }
    must(change.db(), CHANGED, [id.number(), change.now_ms()], WHAT)?;
    tell(change, id, EventBody::ConversationUpdated).map(Ok)
}

fn set_title(change: &Change<'_>, id: ConversationId, title: Option<&Title>) -> Result<(), Failure> {
    let before = sql::sure(change.db(), TITLE, [id.number()], |row| row.next::<String>())?;
    let after = match title {
        Some(title) => title.to_string(),
        None => {
            let question = sql::one(change.db(), FIRST_QUESTION, [id.number()], |row| row.next::<String>())?;
            question.map_or_else(String::new, |question| automatic_title(&question))
        }
    };
    must(change.db(), SET_TITLE, params![id.number(), after, title.is_some()], WHAT)?;
    if before != after {
        search::remove_title(change.db(), id, &before)?;
        search::add_title(change.db(), id, &after)?;
    }
    Ok(())
}

fn set_workdir(
    change: &Change<'_>,
    id: ConversationId,
    workdir: Option<&(AbsPath, ProjectName)>,
) -> Result<(), Failure> {
    let root = workdir.map(|(_, project)| root(change, project)).transpose()?.flatten();
    let path = workdir.map(|(path, _)| path.as_str());
    must(change.db(), SET_WORKDIR, params![id.number(), path, root], WHAT)
}

fn set_model(change: &Change<'_>, id: ConversationId, model: Option<&ModelRef>) -> Result<(), Failure> {
    let provider = model.map(|model| model.provider.name());
    let name = model.map(|model| model.id.as_str());
    must(change.db(), SET_MODEL, params![id.number(), provider, name], WHAT)
}
