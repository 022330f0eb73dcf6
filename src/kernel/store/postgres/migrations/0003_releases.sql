-- Versions of what the workers of an endpoint are launched with. An endpoint without a row has
-- version 1, stored before this table.
CREATE TABLE releases (
  endpoint text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  launch_hash text NOT NULL,
  state text NOT NULL,
  -- Crashes of its workers before one was healthy.
  failures integer NOT NULL,
  source text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  created_by text,
  -- JSON.
  diff text NOT NULL,
  -- JSON with encrypted variables.
  settings text NOT NULL,
  PRIMARY KEY (endpoint, version)
);
