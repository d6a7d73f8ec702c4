-- Conversations, Turns and Items. A Turn is rows and not a stack frame (D16): what carries it on after a restart reads
-- here what it needs. Times are milliseconds since 1970 in UTC; JSON stands only where SQL never has to look inside.

CREATE TABLE conversations (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    title              TEXT    NOT NULL,
    title_given        INTEGER NOT NULL CHECK (title_given IN (0, 1)),
    workdir            TEXT,
    -- The root of the workdir's Project. Its name is looked up, so that it is told only while the Project is registered.
    project_root       TEXT,
    provider           TEXT,
    model              TEXT,
    archived           INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
    version            INTEGER NOT NULL DEFAULT 1,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    -- Sums, kept in step by the transactions that add to them: a list must not count 100,000 rows.
    item_count         INTEGER NOT NULL DEFAULT 0,
    input_tokens       INTEGER NOT NULL DEFAULT 0,
    output_tokens      INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens  INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd           REAL,
    CHECK ((provider IS NULL) = (model IS NULL))
) STRICT;
CREATE INDEX conversations_by_update ON conversations (archived, updated_at DESC, id DESC);
CREATE INDEX conversations_by_project ON conversations (project_root, archived, updated_at DESC, id DESC)
    WHERE project_root IS NOT NULL;

CREATE TABLE turns (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation       INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    workdir            TEXT,
    provider           TEXT    NOT NULL,
    model              TEXT    NOT NULL,
    on_consent         TEXT    NOT NULL CHECK (on_consent IN ('ask', 'deny')),
    tools              INTEGER NOT NULL CHECK (tools IN (0, 1)),
    sent_by            TEXT    NOT NULL, -- JSON
    cancelling         INTEGER NOT NULL DEFAULT 0 CHECK (cancelling IN (0, 1)),
    rounds             INTEGER NOT NULL DEFAULT 0,
    left_out           INTEGER NOT NULL DEFAULT 0,
    started_at         INTEGER NOT NULL,
    finished_at        INTEGER,
    ending             TEXT,
    error              TEXT,             -- JSON, with the ending `error` only
    input_tokens       INTEGER NOT NULL DEFAULT 0,
    output_tokens      INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens  INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd           REAL,
    CHECK ((finished_at IS NULL) = (ending IS NULL)),
    CHECK ((ending IS 'error') = (error IS NOT NULL))
) STRICT;
CREATE INDEX turns_by_conversation ON turns (conversation, id);
-- One Turn at a time in a Conversation; also what a daemon that starts has to look at.
CREATE UNIQUE INDEX turns_open ON turns (conversation) WHERE finished_at IS NULL;

CREATE TABLE items (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL,
    turn         INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL, -- of its first event
    kind         TEXT    NOT NULL CHECK (kind IN ('user', 'assistant', 'command', 'lookup')),
    created_at   INTEGER NOT NULL,
    completed_at INTEGER,
    complete     INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
    lookup       TEXT,             -- JSON
    text         TEXT    NOT NULL DEFAULT '',
    reasoning    TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX items_by_seq ON items (conversation, seq);
CREATE INDEX items_by_turn ON items (turn, seq);

-- Text on its way, in the order in which it came; joined into its Item when that is completed.
CREATE TABLE chunks (
    id   INTEGER PRIMARY KEY,
    item INTEGER NOT NULL REFERENCES items (id) ON DELETE CASCADE,
    part TEXT    NOT NULL CHECK (part IN ('text', 'reasoning')),
    text TEXT    NOT NULL
) STRICT;
CREATE INDEX chunks_by_item ON chunks (item, part, id);

-- The record of every line that a model asked to run, run or not. The text that it printed stands last, so that
-- whoever reads the record does not read it too.
CREATE TABLE commands (
    item            INTEGER PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE,
    conversation    INTEGER NOT NULL,
    turn            INTEGER NOT NULL,
    proposal        INTEGER,
    requested       TEXT    NOT NULL,
    workdir         TEXT,
    project         TEXT,
    outcome         TEXT CHECK (outcome IN
        ('ran', 'gate_denied', 'denied', 'expired', 'cancelled', 'failed', 'interrupted')),
    denial          TEXT,          -- JSON
    failure         TEXT,
    finished_at     INTEGER,
    ended_by        TEXT,
    exit_code       INTEGER,
    signal          TEXT,
    duration_ms     INTEGER,
    confinement     TEXT,
    stdout_bytes    INTEGER,
    stdout_omitted  INTEGER,
    stdout_replaced INTEGER,
    stderr_bytes    INTEGER,
    stderr_omitted  INTEGER,
    stderr_replaced INTEGER,
    stdout_head     TEXT,
    stdout_tail     TEXT,
    stderr_head     TEXT,
    stderr_tail     TEXT,
    CHECK ((outcome IS 'ran') = (ended_by IS NOT NULL)),
    CHECK ((outcome IS 'gate_denied') = (denial IS NOT NULL)),
    CHECK ((outcome IS 'failed') = (failure IS NOT NULL))
) STRICT;
CREATE INDEX commands_by_conversation ON commands (conversation, item);
CREATE INDEX commands_by_project ON commands (project, item) WHERE project IS NOT NULL;
CREATE INDEX commands_by_workdir ON commands (workdir, item) WHERE workdir IS NOT NULL;
CREATE INDEX commands_by_outcome ON commands (outcome, item);

-- Replies of a model. One without `stop` is not whole: no call of it counts.
CREATE TABLE replies (
    turn     INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item     INTEGER, -- of its text; null when it brought none
    stop     TEXT,    -- JSON
    blocks   TEXT,    -- JSON
    PRIMARY KEY (turn, position),
    CHECK ((stop IS NULL) = (blocks IS NULL))
) STRICT, WITHOUT ROWID;

-- How far the calls of a whole reply are; what they ask for stands among the reply's blocks.
CREATE TABLE calls (
    turn     INTEGER NOT NULL,
    reply    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    item     INTEGER, -- null until it is judged
    told     TEXT,    -- what the model is told of it
    is_error INTEGER CHECK (is_error IN (0, 1)),
    PRIMARY KEY (turn, reply, position),
    FOREIGN KEY (turn, reply) REFERENCES replies (turn, position) ON DELETE CASCADE,
    CHECK ((told IS NULL) = (is_error IS NULL))
) STRICT, WITHOUT ROWID;

-- Calls that clients may send again (D7). `scope` is the Conversation for chat.send, else 0.
CREATE TABLE client_keys (
    method       TEXT    NOT NULL,
    scope        INTEGER NOT NULL,
    key          TEXT    NOT NULL,
    parameters   TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    conversation INTEGER REFERENCES conversations (id) ON DELETE CASCADE,
    turn         INTEGER,
    PRIMARY KEY (method, scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX client_keys_by_age ON client_keys (at);
CREATE INDEX client_keys_by_conversation ON client_keys (conversation);
