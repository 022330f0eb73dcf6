-- Servers that share this store, and what each of them leads (D24, D34).

-- A server counts as alive until `alive_until`; the row of a dead one is removed by the next who
-- notices, and with it all it led.
CREATE TABLE servers (
  id text COLLATE "C" PRIMARY KEY,
  -- Made at each start: of two processes under one id the later one counts.
  run text NOT NULL,
  url text NOT NULL,
  started_at bigint NOT NULL,
  alive_until bigint NOT NULL,
  -- What it shows the others of its state; the number grows with each change.
  note text,
  note_number bigint NOT NULL DEFAULT 0
) WITH (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200
);

-- A lease lives as long as its server: nothing is to be renewed, however many there are.
CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY,
  server text COLLATE "C" NOT NULL REFERENCES servers (id) ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE INDEX leases_server ON leases (server);

-- The server whose launcher started the worker: no other one may take it over or end it (D34).
ALTER TABLE workers ADD COLUMN server text COLLATE "C";
