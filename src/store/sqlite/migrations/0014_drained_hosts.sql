-- Hosts of the configuration that get no workers (D44).
CREATE TABLE drained_hosts (
  name TEXT PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
