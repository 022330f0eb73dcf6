-- Batches of requests (D57). `progress` is JSON of the module; the files that it names are rows of `files`.
CREATE TABLE batches (
  id TEXT NOT NULL PRIMARY KEY,
  endpoint TEXT NOT NULL,
  key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  cancelled_at INTEGER,
  is_open INTEGER NOT NULL,
  version INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  progress TEXT NOT NULL
) STRICT;

CREATE INDEX batches_by_age ON batches (endpoint, id);
CREATE INDEX batches_by_fingerprint ON batches (endpoint, fingerprint, created_at);
CREATE INDEX batches_open ON batches (id) WHERE is_open;
CREATE INDEX batches_ended ON batches (created_at, id) WHERE NOT is_open;
