-- Versions of what the workers of an endpoint are launched with. An endpoint without a row has
-- version 1, stored before this table.
CREATE TABLE releases (
  endpoint TEXT NOT NULL,
  version INTEGER NOT NULL,
  launch_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  -- Crashes of its workers before one was healthy.
  failures INTEGER NOT NULL,
  source TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  -- JSON.
  diff TEXT NOT NULL,
  -- JSON with encrypted variables.
  settings TEXT NOT NULL,
  PRIMARY KEY (endpoint, version)
) STRICT, WITHOUT ROWID;
