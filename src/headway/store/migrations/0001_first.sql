-- Jobs, their attempts and runs; reports as they come in; history in chunks by tier.
-- Who writes what and why: headway/store/sqlite/__init__.py.

CREATE TABLE job (
    id        INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    document  BLOB,
    UNIQUE (namespace, name)
);

CREATE TABLE attempt (
    id   INTEGER PRIMARY KEY,
    job  INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (job, name)
);

-- seen: which reports of the run are kept, as [[first, last], ...].
CREATE TABLE run (
    id   INTEGER PRIMARY KEY,
    job  INTEGER NOT NULL,
    name TEXT NOT NULL,
    seen TEXT NOT NULL,
    UNIQUE (job, name)
);

-- Reports not compacted yet. No index but the rowid: the writer remembers which rows are whose.
CREATE TABLE report (
    id      INTEGER PRIMARY KEY,
    job     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    run     INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    points  BLOB NOT NULL
);

-- count: raw points compacted; so tier k holds count >> 3k points.
CREATE TABLE series (
    id      INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    metric  TEXT NOT NULL,
    count   INTEGER NOT NULL,
    UNIQUE (attempt, metric)
);

-- Chunk n of tier k holds that tier's points 512 n to 512 n + 511; the last one of a tier may be shorter.
CREATE TABLE chunk (
    id         INTEGER PRIMARY KEY,
    series     INTEGER NOT NULL,
    tier       INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step  INTEGER NOT NULL,
    written    REAL NOT NULL,
    points     BLOB NOT NULL,
    UNIQUE (series, tier, number)
);

CREATE INDEX chunk_by_age ON chunk (tier, written);
