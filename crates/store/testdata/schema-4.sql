SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA repertoire;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE repertoire.blobs (
    digest bytea NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE repertoire.changes (
    channel text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    "position" bigint NOT NULL,
    digest bytea
);
CREATE TABLE repertoire.events (
    id bigint NOT NULL,
    time_ms bigint NOT NULL,
    skill text COLLATE pg_catalog."C",
    agent text COLLATE pg_catalog."C",
    json text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE repertoire.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME repertoire.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE repertoire.proposals (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    skill text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    base bytea,
    result bytea NOT NULL,
    diff text NOT NULL COLLATE pg_catalog."C",
    justification text NOT NULL COLLATE pg_catalog."C",
    evidence text COLLATE pg_catalog."C",
    findings text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL COLLATE pg_catalog."C",
    session text COLLATE pg_catalog."C",
    time_ms bigint NOT NULL,
    replaces bigint,
    state text NOT NULL COLLATE pg_catalog."C",
    reviewer text COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    decided_ms bigint
);
CREATE TABLE repertoire.publications (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    author text COLLATE pg_catalog."C",
    time_ms bigint NOT NULL
);
CREATE TABLE repertoire.recent_blobs (
    digest bytea NOT NULL,
    time_ms bigint NOT NULL
);
CREATE TABLE repertoire.releases (
    number bigint NOT NULL,
    channel text NOT NULL COLLATE pg_catalog."C",
    author text COLLATE pg_catalog."C",
    time_ms bigint NOT NULL
);
CREATE TABLE repertoire.schema (
    number bigint NOT NULL
);
CREATE TABLE repertoire.served (
    channel text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    number bigint NOT NULL
);
CREATE TABLE repertoire.skills (
    skill text NOT NULL COLLATE pg_catalog."C",
    newest bigint NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE repertoire.tokens (
    digest bytea NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    agent text COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    author text COLLATE pg_catalog."C",
    created_ms bigint NOT NULL,
    expires_ms bigint,
    revoked_ms bigint
);
CREATE TABLE repertoire.usage (
    key bytea NOT NULL,
    day bigint NOT NULL,
    calls bigint NOT NULL,
    tokens bigint NOT NULL,
    last_ms bigint NOT NULL
);
CREATE TABLE repertoire.usage_keys (
    key bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    skill text NOT NULL COLLATE pg_catalog."C",
    source text COLLATE pg_catalog."C",
    file text COLLATE pg_catalog."C",
    agent text COLLATE pg_catalog."C",
    identity text COLLATE pg_catalog."C"
);
CREATE TABLE repertoire.versions (
    skill text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    time_ms bigint NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    author text COLLATE pg_catalog."C"
);
INSERT INTO repertoire.blobs VALUES ('\xaa1237b773c38dbddef583c4868aaea7a44c5237ea7923aecca5513764b42d80', '\x2320410a');
INSERT INTO repertoire.blobs VALUES ('\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', '\x7265706572746f6972652d62756e646c652d76310a383a534b494c4c2e6d64002d003400616131323337623737336333386462646465663538336334383638616165613761343463353233376561373932336165636361353531333736346234326438300a');
INSERT INTO repertoire.changes VALUES ('stable', 'a', 1, 0, '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40');
INSERT INTO repertoire.events OVERRIDING SYSTEM VALUE VALUES (1, 60000, 'a', 'reviewer', '{"time":"1970-01-01T00:01:00.000Z","kind":"skill_loaded","tool":"load_skill","skill":"a","file":null,"source":null,"identity":"/a","agent":"reviewer","session":"s1","outcome":"ok","bytes":0,"tokens":7,"duration":0.000000,"digest":null,"error":null,"query":null,"results":null,"principal":null,"surface":"library","via":"call"}');
INSERT INTO repertoire.events OVERRIDING SYSTEM VALUE VALUES (2, 60000, 'a', 'reviewer', '{"time":"1970-01-01T00:01:00.000Z","kind":"skill_loaded","tool":"load_skill","skill":"a","file":null,"source":null,"identity":"/a","agent":"reviewer","session":"s1","outcome":"ok","bytes":0,"tokens":7,"duration":0.000000,"digest":null,"error":null,"query":null,"results":null,"principal":null,"surface":"library","via":"call"}');
INSERT INTO repertoire.proposals VALUES (1, 'update', '/a', 'a', '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', '+ä
', 'it is wrong', NULL, '', 'agent', 's1', 0, NULL, 'rejected', 'ann', 'no', 0);
INSERT INTO repertoire.publications VALUES ('a', '1.0.0', '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', NULL, 0);
INSERT INTO repertoire.recent_blobs VALUES ('\xaa1237b773c38dbddef583c4868aaea7a44c5237ea7923aecca5513764b42d80', 1795062458214);
INSERT INTO repertoire.recent_blobs VALUES ('\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', 1795062458214);
INSERT INTO repertoire.releases VALUES (1, 'stable', 'ann', 0);
INSERT INTO repertoire.schema VALUES (1);
INSERT INTO repertoire.schema VALUES (2);
INSERT INTO repertoire.schema VALUES (3);
INSERT INTO repertoire.schema VALUES (4);
INSERT INTO repertoire.served VALUES ('stable', 'a', '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', 1);
INSERT INTO repertoire.skills VALUES ('/a', 1, '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40');
INSERT INTO repertoire.tokens VALUES ('\x52906785e62e03051e552ee57321364d8d39112ccc9be3dddd31f95013b1009d', 'ann', 'author', NULL, '{"allow":null,"deny":[],"kits":["web"]}', NULL, 0, NULL, NULL);
INSERT INTO repertoire.usage VALUES ('\xfa497d2a941efbb2b69bd33ca333a71b', 0, 2, 14, 60000);
INSERT INTO repertoire.usage_keys VALUES ('\xfa497d2a941efbb2b69bd33ca333a71b', 'skill_loaded', 'ok', 'a', NULL, NULL, 'reviewer', '/a');
INSERT INTO repertoire.versions VALUES ('/a', 1, 'a', '\xe91cd888f8e4cd9a4b8120fdde15748ee78db0f821282a9291799199552eab40', 0, 'add', 'ann');
SELECT pg_catalog.setval('repertoire.events_id_seq', 2, true);
ALTER TABLE ONLY repertoire.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY repertoire.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (channel, name, number, "position");
ALTER TABLE ONLY repertoire.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY repertoire.proposals
    ADD CONSTRAINT proposals_pkey PRIMARY KEY (id);
ALTER TABLE ONLY repertoire.publications
    ADD CONSTRAINT publications_pkey PRIMARY KEY (name, version);
ALTER TABLE ONLY repertoire.recent_blobs
    ADD CONSTRAINT recent_blobs_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY repertoire.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (number);
ALTER TABLE ONLY repertoire.schema
    ADD CONSTRAINT schema_pkey PRIMARY KEY (number);
ALTER TABLE ONLY repertoire.served
    ADD CONSTRAINT served_pkey PRIMARY KEY (channel, name);
ALTER TABLE ONLY repertoire.skills
    ADD CONSTRAINT skills_pkey PRIMARY KEY (skill);
ALTER TABLE ONLY repertoire.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY repertoire.usage_keys
    ADD CONSTRAINT usage_keys_pkey PRIMARY KEY (key);
ALTER TABLE ONLY repertoire.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (key, day);
ALTER TABLE ONLY repertoire.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (skill, number);
CREATE INDEX events_agent ON repertoire.events USING btree (agent, id);
CREATE INDEX events_skill ON repertoire.events USING btree (skill, id);
CREATE INDEX events_time ON repertoire.events USING btree (time_ms);
CREATE INDEX proposals_skill ON repertoire.proposals USING btree (skill);
CREATE INDEX proposals_state ON repertoire.proposals USING btree (state);
