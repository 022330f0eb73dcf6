-- The audit log is listed by key and action (D42). JSON of earlier entries may hold \u0000, which
-- PostgreSQL does not parse; quotes within values are escaped, so the patterns are exact.
DROP TRIGGER audit_append_only ON audit;
ALTER TABLE audit ADD COLUMN key_id text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN action text COLLATE "C" NOT NULL DEFAULT '';
UPDATE audit SET key_id = coalesce(substring(entry FROM '"keyId":"([^"\\]*)"'), ''),
  action = coalesce(substring(entry FROM '"action":"([^"\\]*)"'), '');
CREATE INDEX audit_key ON audit (key_id, number);
CREATE INDEX audit_action ON audit (action, number);
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_append_only();
