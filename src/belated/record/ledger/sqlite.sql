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
