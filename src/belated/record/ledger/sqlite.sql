-- version 1 --
CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL          -- JSON
) STRICT;

CREATE TABLE events (
    study INTEGER NOT NULL REFERENCES studies (id),
    position INTEGER NOT NULL,  -- 1, 2, 3, … in the order of writing
    kind TEXT NOT NULL,
    number INTEGER,             -- of the trial it is about
    key TEXT,                   -- the client's, if it gave one
    part INTEGER NOT NULL DEFAULT 0,
    body TEXT NOT NULL,         -- the whole event as JSON
    PRIMARY KEY (study, position)
) STRICT, WITHOUT ROWID;

-- A number is asked once, told once, failed once; a key is used once.
CREATE UNIQUE INDEX events_once ON events (study, number, kind) WHERE kind IN ('asked', 'told', 'failed');
CREATE UNIQUE INDEX events_keys ON events (study, key, part) WHERE key IS NOT NULL;

-- version 2 --
-- Made when it was created; moves with the study.
ALTER TABLE studies ADD COLUMN identity TEXT NOT NULL DEFAULT '';
-- Its head: position and hash of its last event.
ALTER TABLE studies ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
ALTER TABLE studies ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
-- Events that were there before the chain began.
ALTER TABLE studies ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
-- Over the event and the hash before it.
ALTER TABLE events ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
CREATE UNIQUE INDEX studies_identity ON studies (identity) WHERE identity <> '';

-- The name by which the file is written to, and the device and inode of its folder: two names would have two write-ahead
-- logs.
CREATE TABLE place (path TEXT NOT NULL, folder TEXT NOT NULL) STRICT;

-- version 3 --
-- What is left of a study that was deleted.
CREATE TABLE tombstones (
    identity TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,  -- of its head
    hash BLOB NOT NULL,
    person TEXT,
    at REAL NOT NULL,           -- seconds since 1970
    reason TEXT NOT NULL
) STRICT;

-- version 4 --
-- What the events of a study come to, up to a position; made and thrown away freely (record/snapshot.py).
CREATE TABLE snapshots (
    study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    part INTEGER NOT NULL,      -- 0, 1, 2, …
    body BLOB NOT NULL,
    PRIMARY KEY (study, position, part)
) STRICT;
