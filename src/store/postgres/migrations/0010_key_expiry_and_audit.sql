-- Expiry, rotation and last use of API keys (D30); actions of administrators (D42).

ALTER TABLE keys ADD COLUMN expires_at bigint;
ALTER TABLE keys ADD COLUMN last_used_address text;
-- The key before the last rotation, and until when it is valid.
ALTER TABLE keys ADD COLUMN previous_hash text COLLATE "C";
ALTER TABLE keys ADD COLUMN previous_until bigint;

CREATE INDEX keys_previous ON keys (previous_hash) WHERE previous_hash IS NOT NULL;

-- `entry` is JSON.
CREATE TABLE audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  entry text NOT NULL
);

CREATE INDEX audit_at ON audit (at);

CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The audit log is append-only.';
END $$;

CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_append_only();
