-- Sessions of the console (D31). They end with their key.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  page TEXT NOT NULL,
  key_id TEXT NOT NULL,
  mark TEXT NOT NULL,
  by_link INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  until INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_key ON sessions (key_id, last_used_at);
