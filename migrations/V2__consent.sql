-- Proposals and Grants (ADR-0022, D8). A Proposal has one outcome, decided by one compare-and-set on its row; what was
-- shown is stored as it was shown. A Grant is a row that says what it covers.

CREATE TABLE proposals (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL,
    turn         INTEGER NOT NULL,
    reply        INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    item         INTEGER NOT NULL UNIQUE REFERENCES items (id) ON DELETE CASCADE,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'expired', 'cancelled')),
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    decided_at   INTEGER,
    decided_by   TEXT, -- JSON
    reason       TEXT,
    granted      INTEGER,
    -- When its start was stored, before execve: from then on it never runs again.
    started_at   INTEGER,
    pid          INTEGER,
    program      TEXT    NOT NULL,
    verb         TEXT,
    workdir      TEXT    NOT NULL,
    project      TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    shown        TEXT    NOT NULL, -- JSON
    UNIQUE (turn, reply, position),
    FOREIGN KEY (turn, reply, position) REFERENCES calls (turn, reply, position) ON DELETE CASCADE,
    CHECK ((state = 'pending') = (decided_at IS NULL)),
    CHECK ((decided_at IS NULL) = (decided_by IS NULL)),
    CHECK (granted IS NULL OR state = 'allowed'),
    CHECK (reason IS NULL OR state = 'denied'),
    CHECK (started_at IS NULL OR state = 'allowed')
) STRICT;
CREATE INDEX proposals_by_state ON proposals (state, id);
CREATE INDEX proposals_by_conversation ON proposals (conversation, state, id);
CREATE INDEX proposals_due ON proposals (expires_at) WHERE state = 'pending';

CREATE TABLE grants (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    program      TEXT    NOT NULL,
    verb         TEXT,
    workdir      TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    created_from INTEGER NOT NULL,
    granted_by   TEXT    NOT NULL, -- JSON
    uses         INTEGER NOT NULL DEFAULT 0,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;
CREATE INDEX grants_by_conversation ON grants (conversation, id);
-- One Grant of a kind at a time: a second answer that remembers the same finds the first one's.
CREATE UNIQUE INDEX grants_in_force ON grants (conversation, program, ifnull(verb, ''), workdir)
    WHERE revoked_at IS NULL;
