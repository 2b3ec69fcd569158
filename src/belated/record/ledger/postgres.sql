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

-- version 2 --
-- Made when it was created; moves with the study.
ALTER TABLE belated_studies ADD COLUMN identity TEXT NOT NULL DEFAULT '';
-- Of its last event.
ALTER TABLE belated_studies ADD COLUMN hash BYTEA NOT NULL DEFAULT ''::bytea;
-- Events that were there before the chain began.
ALTER TABLE belated_studies ADD COLUMN sealed BIGINT NOT NULL DEFAULT 0;
-- Over the event and the hash before it.
ALTER TABLE belated_events ADD COLUMN hash BYTEA NOT NULL DEFAULT ''::bytea;
-- In its write: 1, 2, 3, ….
ALTER TABLE belated_events ADD COLUMN place INTEGER NOT NULL DEFAULT 1;
UPDATE belated_events AS e SET place = counted.place FROM (
    SELECT study, position, row_number() OVER (PARTITION BY study, token ORDER BY position) AS place FROM belated_events
) AS counted WHERE e.study = counted.study AND e.position = counted.position;
CREATE UNIQUE INDEX belated_studies_identity ON belated_studies (identity) WHERE identity <> '';
-- What was written stays written once, however late a packet comes.
DROP INDEX belated_events_tokens;
CREATE UNIQUE INDEX belated_events_tokens ON belated_events (study, token, place);

-- Append events to a study, whose row is locked, so positions are in order of commit. A position that was seen before must
-- still have its hash: if not, or if there is no such study, nothing is written, and written is false.
CREATE FUNCTION belated_append(
    which TEXT, seen_position BIGINT, seen_hash BYTEA, write_token TEXT, new_events JSON,
    OUT written BOOLEAN, OUT last_position BIGINT, OUT last_hash BYTEA
) LANGUAGE plpgsql AS $$
DECLARE
    one RECORD;
    new RECORD;
BEGIN
    written := false;
    SELECT id, position, hash INTO one FROM belated_studies WHERE identity = which FOR UPDATE;
    IF one.id IS NULL THEN
        RETURN;
    END IF;
    last_position := one.position;
    last_hash := one.hash;
    IF seen_position > 0 AND (seen_position, seen_hash) IS DISTINCT FROM (one.position, one.hash) AND NOT EXISTS (
        SELECT 1 FROM belated_events AS e
        WHERE e.study = one.id AND e.position = seen_position AND e.hash = seen_hash
    ) THEN
        RETURN;
    END IF;
    FOR new IN
        SELECT * FROM ROWS FROM (json_to_recordset(new_events) AS (
            kind TEXT, number BIGINT, key TEXT, part INTEGER, body TEXT, content TEXT
        )) WITH ORDINALITY AS given (kind, number, key, part, body, content, place)
    LOOP
        last_position := last_position + 1;
        last_hash := sha256(last_hash || int8send(last_position) || decode(new.content, 'hex'));
        INSERT INTO belated_events (study, position, kind, number, key, part, token, place, body, hash)
        VALUES (
            one.id, last_position, new.kind, new.number, new.key, new.part, write_token, new.place, new.body, last_hash
        );
    END LOOP;
    UPDATE belated_studies SET position = last_position, hash = last_hash WHERE id = one.id;
    written := true;
END
$$;
