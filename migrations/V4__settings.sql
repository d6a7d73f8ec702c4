-- What a person registered and configured: Projects as they were on that day, and Providers without their keys, which
-- are never in the database (D18). Device and inode numbers are unsigned and kept bit by bit.

CREATE TABLE projects (
    name              TEXT    NOT NULL PRIMARY KEY,
    base_branch       TEXT    NOT NULL,
    added_at          INTEGER NOT NULL,
    root              TEXT    NOT NULL UNIQUE,
    root_device       INTEGER NOT NULL,
    root_inode        INTEGER NOT NULL,
    git_dir           TEXT    NOT NULL,
    git_dir_device    INTEGER NOT NULL,
    git_dir_inode     INTEGER NOT NULL,
    common_dir        TEXT    NOT NULL,
    common_dir_device INTEGER NOT NULL,
    common_dir_inode  INTEGER NOT NULL
) STRICT;

CREATE TABLE providers (
    provider      TEXT NOT NULL PRIMARY KEY,
    base_url      TEXT,
    default_model TEXT,
    models        TEXT NOT NULL -- JSON
) STRICT;

CREATE TABLE provider_errors (
    provider TEXT    NOT NULL PRIMARY KEY,
    at       INTEGER NOT NULL,
    status   INTEGER,
    message  TEXT    NOT NULL
) STRICT;
