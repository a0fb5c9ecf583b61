-- When a blob was last put or looked for. After a while, one that nothing names is removed, and the others leave this table.
CREATE TABLE recent_blobs (
    digest BYTEA PRIMARY KEY,
    time_ms BIGINT NOT NULL
);
