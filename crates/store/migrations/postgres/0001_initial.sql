-- Texts are sorted by their bytes, as in SQLite.
-- Events as lines of JSON; numbers are never used again.
CREATE TABLE events (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time_ms BIGINT NOT NULL,
    skill TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    json TEXT COLLATE "C" NOT NULL
);
CREATE INDEX events_time ON events (time_ms);
CREATE INDEX events_skill ON events (skill, id);
CREATE INDEX events_agent ON events (agent, id);

-- Calls by day. A key is a hash of the columns beside it.
CREATE TABLE usage_keys (
    key BYTEA PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    skill TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C",
    file TEXT COLLATE "C",
    agent TEXT COLLATE "C"
);
CREATE TABLE usage (
    key BYTEA NOT NULL,
    day BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (key, day)
);

CREATE TABLE blobs (
    digest BYTEA PRIMARY KEY,
    bytes BYTEA NOT NULL
);
-- The newest version of each skill.
CREATE TABLE skills (
    skill TEXT COLLATE "C" PRIMARY KEY,
    newest BIGINT NOT NULL,
    digest BYTEA NOT NULL
);
CREATE TABLE versions (
    skill TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    time_ms BIGINT NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C",
    PRIMARY KEY (skill, number)
);

CREATE TABLE proposals (
    id BIGINT PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    skill TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    base BYTEA,
    result BYTEA NOT NULL,
    diff TEXT COLLATE "C" NOT NULL,
    justification TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C",
    findings TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    time_ms BIGINT NOT NULL,
    replaces BIGINT,
    state TEXT COLLATE "C" NOT NULL,
    reviewer TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    decided_ms BIGINT
);
CREATE INDEX proposals_skill ON proposals (skill);
CREATE INDEX proposals_state ON proposals (state);

CREATE TABLE releases (
    number BIGINT PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C",
    time_ms BIGINT NOT NULL
);
-- Each change of a release; those without a digest removed the skill.
CREATE TABLE changes (
    channel TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    position BIGINT NOT NULL,
    digest BYTEA,
    PRIMARY KEY (channel, name, number, position)
);
-- The skills that each channel has now.
CREATE TABLE served (
    channel TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (channel, name)
);
