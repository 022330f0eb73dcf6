-- Hosts of the configuration that get no workers (D44).
CREATE TABLE drained_hosts (
  name text PRIMARY KEY,
  since bigint NOT NULL
);
