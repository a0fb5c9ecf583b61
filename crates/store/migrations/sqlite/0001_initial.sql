-- Events as lines of JSON; numbers are never used again.
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time_ms INTEGER NOT NULL,
    skill TEXT,
    agent TEXT,
    json TEXT NOT NULL
);
CREATE INDEX events_time ON events (time_ms);
CREATE INDEX events_skill ON events (skill);
CREATE INDEX events_agent ON events (agent);

-- Calls by day. A key is a hash of the columns beside it.
CREATE TABLE usage_keys (
    key BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    outcome TEXT NOT NULL,
    skill TEXT NOT NULL,
    source TEXT,
    file TEXT,
    agent TEXT
) WITHOUT ROWID;
CREATE TABLE usage (
    key BLOB NOT NULL,
    day INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    PRIMARY KEY (key, day)
) WITHOUT ROWID;

CREATE TABLE blobs (
    digest BLOB PRIMARY KEY,
    bytes BLOB NOT NULL
);
-- The newest version of each skill.
CREATE TABLE skills (
    skill TEXT PRIMARY KEY,
    newest INTEGER NOT NULL,
    digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE versions (
    skill TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    time_ms INTEGER NOT NULL,
    origin TEXT NOT NULL,
    author TEXT,
    PRIMARY KEY (skill, number)
) WITHOUT ROWID;

CREATE TABLE proposals (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    skill TEXT NOT NULL,
    name TEXT NOT NULL,
    base BLOB,
    result BLOB NOT NULL,
    diff TEXT NOT NULL,
    justification TEXT NOT NULL,
    evidence TEXT,
    findings TEXT NOT NULL,
    author TEXT NOT NULL,
    session TEXT,
    time_ms INTEGER NOT NULL,
    replaces INTEGER,
    state TEXT NOT NULL,
    reviewer TEXT,
    reason TEXT,
    decided_ms INTEGER
);
CREATE INDEX proposals_skill ON proposals (skill);
CREATE INDEX proposals_state ON proposals (state);

CREATE TABLE releases (
    number INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    author TEXT,
    time_ms INTEGER NOT NULL
);
-- Each change of a release; those without a digest removed the skill.
CREATE TABLE changes (
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    digest BLOB,
    PRIMARY KEY (channel, name, number, position)
) WITHOUT ROWID;
-- The skills that each channel has now.
CREATE TABLE served (
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (channel, name)
) WITHOUT ROWID;
