-- Expiry, rotation and last use of API keys (D30); actions of administrators (D42).

ALTER TABLE keys ADD COLUMN expires_at INTEGER;
ALTER TABLE keys ADD COLUMN last_used_address TEXT;
-- The key before the last rotation, and until when it is valid.
ALTER TABLE keys ADD COLUMN previous_hash TEXT;
ALTER TABLE keys ADD COLUMN previous_until INTEGER;

CREATE INDEX keys_previous ON keys (previous_hash) WHERE previous_hash IS NOT NULL;

-- `entry` is JSON.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  entry TEXT NOT NULL
) STRICT;

CREATE INDEX audit_at ON audit (at);

CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'The audit log is append-only.');
END;
