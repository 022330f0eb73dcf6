-- What each session of a server committed last: by it a server knows what became of a transaction
-- whose COMMIT got no answer (docs/decisions/0024). A transaction that wrote anything writes its
-- number here with its last statement, so that both are committed or neither is.
CREATE TABLE commit_markers (
  -- One connection of one server, from its start to its loss.
  session text COLLATE "C" PRIMARY KEY,
  -- Of the last committed transaction, counted by the session; 0: none.
  serial bigint NOT NULL,
  -- The session was lost, and its server has asked: it commits nothing more.
  closed boolean NOT NULL DEFAULT false,
  -- By the clock of the database. No index, so that updates are HOT.
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
