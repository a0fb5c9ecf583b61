-- The secrets themselves are kept nowhere.
CREATE TABLE tokens (
    digest BYTEA PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C",
    scope TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C",
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    revoked_ms BIGINT
);

-- The versions of skills as their authors call them.
CREATE TABLE publications (
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    author TEXT COLLATE "C",
    time_ms BIGINT NOT NULL,
    PRIMARY KEY (name, version)
);
