-- Steps of this database's clock against the job clock. Not used any more: servers of the version before
-- still read it during an upgrade.
CREATE TABLE clock_steps (
  serial bigint PRIMARY KEY,
  at bigint NOT NULL,
  ahead bigint NOT NULL
);
