-- Accounts, Jobs and Runs (ADR-0035, D22). An Account's token is in the credential store and its rules in its own file;
-- neither is here. What a Run's Agent was told is stored as it stood, in JSON that SQL never looks into.

CREATE TABLE accounts (
    name       TEXT    NOT NULL PRIMARY KEY,
    directory  TEXT    NOT NULL,
    seeded_at  INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

-- The prompt stands last, so that a list that only shows titles does not read it.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    project     TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('pending', 'active', 'blocked', 'review', 'done', 'cancelled')),
    reason      TEXT,
    branch      TEXT    NOT NULL,
    worktree    TEXT,
    base_branch TEXT    NOT NULL,
    base_commit TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    active_run  INTEGER,
    files       INTEGER,
    insertions  INTEGER,
    deletions   INTEGER,
    commits     INTEGER,
    set_up      INTEGER NOT NULL DEFAULT 0 CHECK (set_up IN (0, 1)),
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    prompt      TEXT    NOT NULL,
    CHECK ((state = 'active') = (active_run IS NOT NULL)),
    CHECK (worktree IS NULL OR base_commit IS NOT NULL),
    CHECK ((files IS NULL) = (commits IS NULL))
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, id DESC);
CREATE INDEX jobs_by_project ON jobs (project, id DESC);
CREATE INDEX jobs_by_account ON jobs (account, state);

-- A Job that is being started, held by nobody else meanwhile. Numbers are never used twice, so that a hold which was let
-- go of is never taken for a later one.
CREATE TABLE holds (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job    INTEGER NOT NULL UNIQUE REFERENCES jobs (id) ON DELETE CASCADE
) STRICT;

CREATE TABLE runs (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    job              INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    attempt          INTEGER NOT NULL,
    stage            TEXT    NOT NULL CHECK (stage IN ('prepared', 'at_work', 'ended')),
    cancelling       INTEGER NOT NULL DEFAULT 0 CHECK (cancelling IN (0, 1)),
    started_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    outcome          TEXT CHECK (outcome IN ('review', 'blocked', 'cancelled', 'interrupted')),
    reason           TEXT,
    tool_version     TEXT    NOT NULL,
    settings_changed INTEGER CHECK (settings_changed IN (0, 1)),
    argv             TEXT    NOT NULL, -- JSON
    permissions      TEXT    NOT NULL, -- JSON
    reported         TEXT,             -- JSON
    denials          TEXT    NOT NULL, -- JSON
    ended            TEXT,             -- JSON
    terms            TEXT    NOT NULL, -- JSON
    UNIQUE (job, attempt),
    CHECK ((finished_at IS NULL) = (outcome IS NULL)),
    CHECK ((stage = 'ended') = (ended IS NOT NULL))
) STRICT;
-- One Run at a time of a Job; also what a daemon that starts has to look at.
CREATE UNIQUE INDEX runs_open ON runs (job) WHERE finished_at IS NULL;

-- What judged a Run's work, in order.
CREATE TABLE verifications (
    run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    verdict  TEXT    NOT NULL, -- JSON
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- The Job that a call with a client's key made.
ALTER TABLE client_keys ADD COLUMN job INTEGER REFERENCES jobs (id) ON DELETE CASCADE;
CREATE INDEX client_keys_by_job ON client_keys (job);
