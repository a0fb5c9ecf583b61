-- The secrets themselves are kept nowhere.
CREATE TABLE tokens (
    digest BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    agent TEXT,
    scope TEXT NOT NULL,
    author TEXT,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER
) WITHOUT ROWID;

-- The versions of skills as their authors call them.
CREATE TABLE publications (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    digest BLOB NOT NULL,
    author TEXT,
    time_ms INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) WITHOUT ROWID;
