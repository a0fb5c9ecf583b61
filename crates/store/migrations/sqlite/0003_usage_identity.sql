-- The identity of the skill that calls were about. Earlier versions counted by names, and servers of these go on doing so.
ALTER TABLE usage_keys ADD COLUMN identity TEXT;
-- The skills of a channel are told apart by its name.
UPDATE usage_keys SET identity = source || ':' || skill WHERE source LIKE 'store:%';
