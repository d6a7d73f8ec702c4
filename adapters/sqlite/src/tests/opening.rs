//! What is opened, what is refused and in which words; what is copied before it is changed.

use super::*;
use crate::OpenStoreError;
use rusqlite::Connection;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

fn open(path: &Path) -> Result<SqliteStore, OpenStoreError> {
    SqliteStore::open(path, Arc::new(Decodable::default()))
}

/// Opens a file that is then refused, and returns why.
fn refused(path: &Path) -> OpenStoreError {
    match open(path) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

/// A database that was closed, for a test to spoil.
async fn closed() -> Owl {
    let owl = Owl::new();
    owl.conversation().await;
    owl.store.close().await;
    owl
}

#[tokio::test]
async fn its_files_are_for_this_user_alone() {
    let owl = Owl::new();
    owl.conversation().await;
    let mode = |name: &str| fs::metadata(owl.directory.path().join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["owl.db", "owl.db-wal", "owl.db-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    owl.store.close().await;
    fs::set_permissions(owl.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let owl = owl.reopen();
    assert_eq!(fs::metadata(owl.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn the_database_is_set_up_as_it_must_be() {
    let owl = Owl::new();
    let value = async |name: &'static str| {
        owl.store
            .database
            .write(owl.now, move |change| {
                Ok(change
                    .db()
                    .query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0))?)
            })
            .await
            .unwrap()
    };
    use rusqlite::types::Value::{Integer, Text};
    assert_eq!(value("journal_mode").await, Text("wal".into()));
    assert_eq!(value("synchronous").await, Integer(1));
    assert_eq!(value("foreign_keys").await, Integer(1));
    assert_eq!(value("secure_delete").await, Integer(1));
    assert_eq!(value("busy_timeout").await, Integer(5_000));
    let lax: i64 = owl
        .store
        .database
        .read(|db| {
            let lax = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'refinery_schema_history'";
            Ok(db.query_row(lax, [], |row| row.get(0))?)
        })
        .await
        .unwrap();
    assert_eq!(lax, 0, "tables that are not STRICT");
}

#[tokio::test]
async fn a_database_of_a_newer_owl_is_refused() {
    let owl = closed().await;
    let history = "INSERT INTO refinery_schema_history VALUES (900, 'future', '2031-01-01T00:00:00Z', '1')";
    Connection::open(owl.path()).unwrap().execute(history, []).unwrap();
    let before = fs::read(owl.path()).unwrap();
    let error = refused(&owl.path());
    assert!(matches!(error, OpenStoreError::Newer { found: 900, .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.starts_with(&*owl.path().to_string_lossy()), "{words}");
    assert!(words.contains("was written by a newer Owl") && words.contains("update Owl"), "{words}");
    assert_eq!(fs::read(owl.path()).unwrap(), before);
}

#[tokio::test]
async fn an_edited_migration_is_refused() {
    for (edit, number) in [
        ("UPDATE refinery_schema_history SET checksum = '7' WHERE version = 2", 2),
        ("UPDATE refinery_schema_history SET name = 'other' WHERE version = 1", 1),
        ("UPDATE refinery_schema_history SET checksum = 'no number', applied_on = 'never' WHERE version = 3", 3),
    ] {
        let owl = closed().await;
        Connection::open(owl.path()).unwrap().execute(edit, []).unwrap();
        let error = refused(&owl.path());
        assert!(matches!(error, OpenStoreError::Edited { version, .. } if version == number), "{error:?}");
        assert!(error.to_string().contains("made by another build of Owl"), "{error}");
    }
}

/// The migrations as they were committed: editing one would lock every user of an older Owl out of their database.
#[test]
fn a_migration_that_was_committed_is_never_edited() {
    let now: Vec<_> = crate::migrate::known();
    let committed = [
        (1, "conversations", "1076571745563431676"),
        (2, "consent", "5474842913255010942"),
        (3, "events", "1821617030919820368"),
        (4, "settings", "3290290422667680763"),
        (5, "search", "5846342948646226337"),
        (6, "jobs", "6520256341311350774"),
    ];
    let committed = committed.map(|(version, name, checksum)| (version, name.to_owned(), checksum.to_owned()));
    assert_eq!(now[..committed.len()], committed);
}

#[test]
fn what_is_not_owls_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("owl.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::write(&path, "this is a letter and no database, whatever its name says\n".repeat(100)).unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("keep a copy of it"), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_when_it_is_opened() {
    let owl = Owl::new();
    for number in 0..200 {
        let conversation = owl.conversation().await;
        owl.begin(conversation, &format!("question {number} {}", "words ".repeat(50))).await;
    }
    owl.store.close().await;
    let mut bytes = fs::read(owl.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8_192].fill(0x5A);
    fs::write(owl.path(), bytes).unwrap();
    let error = refused(&owl.path());
    assert!(matches!(error, OpenStoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("none").join("owl.db"), directory.path().to_owned()] {
        let error = refused(&path);
        assert!(matches!(error, OpenStoreError::CannotOpen { .. }), "{error:?}");
        assert!(error.to_string().starts_with(&*path.to_string_lossy()), "{error}");
    }
    assert_ne!(fs::metadata(directory.path()).unwrap().permissions().mode() & 0o100, 0, "a directory is left alone");
}

#[tokio::test]
async fn a_database_of_every_older_schema_is_copied_and_opens_with_its_rows() {
    let newest = crate::migrate::known().len();
    for schema in 1..newest {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owl.db");
        crate::migrate::create_at(&path, i32::try_from(schema).unwrap());
        let row = "INSERT INTO conversations (title, title_given, created_at, updated_at) VALUES ('kept', 1, 5, 5)";
        Connection::open(&path).unwrap().execute(row, []).unwrap();

        let store = open(&path).unwrap();
        let listed = store.conversations().list(everything(), page(50)).await.unwrap();
        assert_eq!(listed.items[0].title, "kept", "schema {schema}");
        let copy = directory.path().join(format!("owl.db.before-schema-{schema}"));
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let copied = Connection::open(&copy).unwrap();
        let title = copied.query_row("SELECT title FROM conversations", [], |row| row.get::<_, String>(0));
        assert_eq!(title.as_deref(), Ok("kept"));
        let version = copied.query_row("SELECT max(version) FROM refinery_schema_history", [], |row| row.get(0));
        assert_eq!(version, Ok(i64::try_from(schema).unwrap()));
        store.close().await;
        drop(copied);
        // What is current is neither copied nor written.
        fs::remove_file(&copy).unwrap();
        let before = fs::read(&path).unwrap();
        open(&path).unwrap().close().await;
        assert_eq!((copy.exists(), fs::read(&path).unwrap()), (false, before));
    }
}

#[test]
fn without_a_copy_there_is_no_migration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("owl.db");
    crate::migrate::create_at(&path, 1);
    let before = fs::read(&path).unwrap();
    fs::create_dir(directory.path().join("owl.db.copying")).unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::NotCopied { .. }), "{error:?}");
    assert!(error.to_string().contains("owl.db.before-schema-1"), "{error}");
    fs::remove_dir(directory.path().join("owl.db.copying")).unwrap();
    let version = |sql| Connection::open(&path).unwrap().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(version("SELECT max(version) FROM refinery_schema_history"), 1);
    assert_eq!(fs::read(&path).unwrap().len(), before.len());
}

#[test]
fn a_migration_that_fails_leaves_the_database_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("owl.db");
    crate::migrate::create_at(&path, 1);
    // In the way of the last migration: those before it succeed, and are undone with it.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE search (a TEXT)").unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::NotMigrated { .. }), "{error:?}");
    assert!(error.to_string().contains("is as it was"), "{error}");
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('proposals', 'events')";
    let tables = Connection::open(&path).unwrap().query_row(tables, [], |row| row.get::<_, i64>(0));
    assert_eq!(tables, Ok(0));
}

/// The schema of the first Owl that kept anything.
const FIRST_SCHEMA: usize = 5;

/// Databases that older Owls left: each is opened, and what it held is read.
#[tokio::test]
async fn the_databases_of_older_owls_open() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let newest = crate::migrate::known().len();
    let of = |schema: usize| fixtures.join(format!("schema-{schema}.db"));
    if std::env::var_os("UPDATE_EXPECT").is_some() && !of(newest).exists() {
        write_fixture(&of(newest)).await;
    }
    for schema in FIRST_SCHEMA..newest {
        assert!(of(schema).exists(), "schema {schema} left no database: see fixtures/README.md");
    }
    for entry in fs::read_dir(&fixtures).unwrap() {
        let fixture = entry.unwrap().path();
        if fixture.extension().is_none_or(|extension| extension != "db") {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owl.db");
        fs::copy(&fixture, &path).unwrap();
        let store = open(&path).unwrap();
        let conversations = store.conversations();
        let listed = conversations.list(everything(), page(50)).await.unwrap().items;
        let told: Vec<_> = listed.iter().map(|one| (one.title.as_str(), one.item_count, one.usage)).collect();
        assert_eq!(told, [("Any TODOs left?", 4, usage(20).plus(Usage { output_tokens: 1, ..Usage::default() }))]);
        let items = conversations.items(listed[0].id, Window::Newest, 50).await.unwrap().items;
        let CommandOutcome::Ran(result) = ran("src/main.rs:3:// TODO\n") else { panic!() };
        let owl_domain::conversation::ItemBody::Command(command) = &items[2].body else { panic!("{items:?}") };
        assert_eq!(command.outcome, Some(CommandOutcome::Ran(result)));
        assert_eq!(command.shown, Some(shown("grep -rn TODO src")));
        assert_eq!(conversations.search("todo".into(), page(50)).await.unwrap().items.len(), 3);
        assert_eq!(store.projects().list().await.unwrap(), [project("my-app", WORKDIR)]);
        let grants = store.grants().list(None, owl_domain::ports::RevokedGrants::LeftOut).await.unwrap();
        assert_eq!((grants.len(), &grants[0].granted_by), (1, &client()));
        let turn = store.turns().newest(listed[0].id).await.unwrap().unwrap();
        let stored = store.turns().load(turn.id).await.unwrap().unwrap();
        assert_eq!((stored.replies.len(), turn.rounds), (2, 2));
        // Older schemas had neither; what this Owl adds works in the same file.
        let had_jobs = !fixture.ends_with("schema-5.db");
        let accounts = store.accounts().list().await.unwrap();
        assert_eq!(accounts, if had_jobs { vec![jobs::account("work")] } else { vec![] });
        let runs = store.runs().of_job(owl_domain::ids::JobId::new(1), 20).await.unwrap().0;
        assert_eq!(runs.len(), usize::from(had_jobs));
        for run in runs {
            let reported = Some(jobs::reported());
            assert_eq!(run.permissions, owl_domain::permissions::Permissions { reported, ..jobs::permissions() });
            assert_eq!((run.denials, run.verification), (jobs::work().denials, vec![jobs::check()]));
        }
        store.jobs().add(jobs::new_job("Go on"), Timestamp::from_millis(9)).await.unwrap();
    }
}

/// Writes what a client of this Owl would leave behind.
async fn write_fixture(path: &Path) {
    let owl = Owl::new();
    owl.store.projects().add(project("my-app", WORKDIR)).await.unwrap();
    let conversation = owl.conversation().await;
    let turn = owl.begin(conversation, "Any TODOs left?").await.turn;
    let turns = owl.store.turns();
    for (text, reply) in [("Let me look.", calls(&["grep -rn TODO src"])), ("There is one.", words("There is one."))] {
        let item = turns.open_text(turn, owl.now).await.unwrap();
        turns.append(item, owl_domain::conversation::Part::Text, text);
        turns.record(turn, Some(item), reply, 0, owl.now).await.unwrap();
        if text.starts_with("Let") {
            let proposal = owl.propose(at(turn, 0), "grep -rn TODO src").await.unwrap();
            owl.answer(&proposal, Said::AllowForConversation).await.unwrap();
            owl.start(&proposal).await;
            owl.settle(at(turn, 0), &proposal, ran("src/main.rs:3:// TODO\n")).await;
        }
    }
    owl.close(turn, Ending::EndTurn).await;
    owl.store.accounts().add(jobs::account("work")).await.unwrap();
    let job = owl.job().await;
    let (_, run) = owl.began(job.id).await;
    let runs = owl.store.runs();
    assert_eq!(runs.start(run.id, owl.now).await, Ok(Moved::Won));
    runs.reported(run.id, jobs::reported()).await.unwrap();
    assert_eq!(runs.ended(run.id, jobs::work(), owl.now).await, Ok(Moved::Won));
    assert_eq!(runs.verified(run.id, jobs::check(), owl.now).await, Ok(Moved::Won));
    let blocked = owl_domain::job::RunEnding { outcome: owl_domain::job::Outcome::Blocked, reason: None };
    assert_eq!(runs.close(run.id, blocked, owl.now).await, Ok(Moved::Won));
    owl.store.close().await;
    // Small pages keep the file small.
    let connection = Connection::open(owl.path()).unwrap();
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM").unwrap();
    drop(connection);
    fs::copy(owl.path(), path).unwrap();
}
