-- Launched workers that have ended (D47), and how the worker of a past attempt did. `record` is JSON.
CREATE TABLE ended_workers (
  id TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX ended_workers_of ON ended_workers (endpoint, ended_at);

ALTER TABLE attempts ADD COLUMN worker_end TEXT;
