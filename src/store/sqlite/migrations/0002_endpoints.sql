-- Endpoints, their workers, and who may call: worker tokens (D26) and API keys (D30).

CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  secret TEXT,
  paused INTEGER NOT NULL DEFAULT 0,
  removing INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  launcher TEXT NOT NULL,
  handle TEXT,
  url TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  worker TEXT,
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX tokens_worker ON tokens (worker) WHERE worker IS NOT NULL;

-- `scopes` and `endpoints` are JSON lists.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  endpoints TEXT,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;

-- What the store knows about this installation, such as its identity.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
