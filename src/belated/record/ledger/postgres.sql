-- version 1 --
CREATE TABLE belated_schema (version INTEGER NOT NULL);

CREATE TABLE belated_studies (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,                 -- JSON, kept to the letter
    position BIGINT NOT NULL DEFAULT 0  -- of its last event; writing locks this row, so positions are in order of commit
);

CREATE TABLE belated_events (
    study BIGINT NOT NULL REFERENCES belated_studies (id),
    position BIGINT NOT NULL,           -- 1, 2, 3, … in the order of writing
    kind TEXT NOT NULL,
    number BIGINT,                      -- of the trial it is about
    key TEXT,                           -- the client's, if it gave one
    part INTEGER NOT NULL DEFAULT 0,
    token TEXT NOT NULL,                -- of the write: a writer whose answer was lost looks for its own
    body TEXT NOT NULL,                 -- the whole event as JSON
    PRIMARY KEY (study, position)
);

-- A number is asked once, told once, failed once; a key is used once.
CREATE UNIQUE INDEX belated_events_once ON belated_events (study, number, kind)
    WHERE kind IN ('asked', 'told', 'failed');
CREATE UNIQUE INDEX belated_events_keys ON belated_events (study, key, part) WHERE key IS NOT NULL;
CREATE INDEX belated_events_tokens ON belated_events (study, token);
