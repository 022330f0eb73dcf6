-- The audit log is listed by key and action (D42).
DROP TRIGGER audit_append_only;
ALTER TABLE audit ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN action TEXT NOT NULL DEFAULT '';
UPDATE audit SET key_id = entry ->> '$.keyId', action = entry ->> '$.action';
CREATE INDEX audit_key ON audit (key_id, number);
CREATE INDEX audit_action ON audit (action, number);
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'The audit log is append-only.');
END;
