-- Events are rows with a sequence number, and a subscription is a cursor over them (D7). `text` is the whole event as
-- clients get it. They outlive what they tell of, but not their Conversation: its deletion leaves one row.

CREATE TABLE events (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT, -- one sequence for all, never used twice
    conversation INTEGER,
    turn         INTEGER,
    job          INTEGER,
    name         TEXT    NOT NULL,
    item         INTEGER,
    at           INTEGER NOT NULL,
    text         TEXT    NOT NULL,
    CHECK ((conversation IS NULL) <> (job IS NULL))
) STRICT;
CREATE INDEX events_by_conversation ON events (conversation, seq) WHERE conversation IS NOT NULL;
CREATE INDEX events_by_job ON events (job, seq) WHERE job IS NOT NULL;
