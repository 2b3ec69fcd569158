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
-- still have its hash: if not, or if there is no such study, nothing is written, and written is false. What others wrote
-- after it is returned too. (A null position: nothing was seen.)
CREATE FUNCTION belated_append(
    which TEXT, seen_position BIGINT, seen_hash BYTEA, write_token TEXT, new_events JSON,
    OUT written BOOLEAN, OUT last_position BIGINT, OUT last_hash BYTEA, OUT between_them JSON
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
    IF seen_position < one.position THEN
        SELECT json_agg(json_build_array(
            e.position, e.kind, e.number, e.key, e.part, e.body, encode(e.hash, 'hex')
        ) ORDER BY e.position) INTO between_them
        FROM belated_events AS e WHERE e.study = one.id AND e.position > seen_position;
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

-- The head of a study and its events from a position on, at one moment; one row without an event if there is none.
CREATE FUNCTION belated_read(which TEXT, since BIGINT) RETURNS TABLE (
    head_position BIGINT, head_hash BYTEA,
    event_position BIGINT, kind TEXT, number BIGINT, key TEXT, part INTEGER, body TEXT, hash BYTEA
) LANGUAGE sql STABLE AS $$
    SELECT s.position, s.hash, e.position, e.kind, e.number, e.key, e.part, e.body, e.hash
    FROM belated_studies AS s LEFT JOIN belated_events AS e ON e.study = s.id AND e.position >= since
    WHERE s.identity = which ORDER BY e.position
$$;

-- Asks of a study wait for the lock ask, at most so long, and the next of them holds the lock next. Wait to be the next; if
-- no ask is running, it is this one's turn at once. Then read: not earlier, so that what the ask before wrote is there.
CREATE FUNCTION belated_queue(ask INTEGER, next INTEGER, study INTEGER, longest TEXT, which TEXT, since BIGINT)
RETURNS TABLE (
    turn BOOLEAN, head_position BIGINT, head_hash BYTEA,
    event_position BIGINT, kind TEXT, number BIGINT, key TEXT, part INTEGER, body TEXT, hash BYTEA
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', longest, true);
    PERFORM pg_advisory_lock(next, study);
    turn := pg_try_advisory_lock(ask, study);
    IF turn THEN
        PERFORM pg_advisory_unlock(next, study);
    END IF;
    RETURN QUERY SELECT turn, r.* FROM belated_read(which, since) AS r;
END
$$;

-- The next one waits for its turn, and reads.
CREATE FUNCTION belated_turn(ask INTEGER, next INTEGER, study INTEGER, longest TEXT, which TEXT, since BIGINT)
RETURNS TABLE (
    turn BOOLEAN, head_position BIGINT, head_hash BYTEA,
    event_position BIGINT, kind TEXT, number BIGINT, key TEXT, part INTEGER, body TEXT, hash BYTEA
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', longest, true);
    PERFORM pg_advisory_lock(ask, study);
    PERFORM pg_advisory_unlock(next, study);
    RETURN QUERY SELECT true, r.* FROM belated_read(which, since) AS r;
END
$$;

-- version 3 --
-- What is left of a study that was deleted.
CREATE TABLE belated_tombstones (
    identity TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    position BIGINT NOT NULL,           -- of its head
    hash BYTEA NOT NULL,
    person TEXT,
    at DOUBLE PRECISION NOT NULL,       -- seconds since 1970
    reason TEXT NOT NULL
);

-- version 4 --
-- Append what was decided about a trial without reading first. After the event that was seen, others may have asked, or told
-- of other trials, and nothing else: if not, this fails as if it were taken.
CREATE FUNCTION belated_append_about(
    about BIGINT, which TEXT, seen_position BIGINT, seen_hash BYTEA, write_token TEXT, new_events JSON,
    OUT written BOOLEAN, OUT last_position BIGINT, OUT last_hash BYTEA, OUT between_them JSON
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM belated_studies WHERE identity = which FOR UPDATE;
    IF EXISTS (
        SELECT 1 FROM belated_events AS e JOIN belated_studies AS s ON s.id = e.study
        WHERE s.identity = which AND e.position > seen_position
            AND (e.number = about OR e.kind NOT IN ('asked', 'told', 'converted', 'repeated', 'refused', 'failed'))
    ) THEN
        RAISE unique_violation;
    END IF;
    SELECT a.* INTO written, last_position, last_hash, between_them
    FROM belated_append(which, seen_position, seen_hash, write_token, new_events) AS a;
END
$$;

-- version 5 --
-- What the events of a study come to, up to a position; made and thrown away freely (record/snapshot.py).
CREATE TABLE belated_snapshots (
    study BIGINT NOT NULL REFERENCES belated_studies (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    part INTEGER NOT NULL,              -- 0, 1, 2, …
    body BYTEA NOT NULL,
    PRIMARY KEY (study, position, part)
);
