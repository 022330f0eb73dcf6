-- Endpoints, their workers, and who may call: worker tokens (D26) and API keys (D30).

CREATE TABLE endpoints (
  id text COLLATE "C" PRIMARY KEY,
  settings text NOT NULL,
  secret text,
  paused boolean NOT NULL DEFAULT false,
  removing boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL
);

CREATE TABLE workers (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  launcher text NOT NULL,
  handle text,
  url text,
  created_at bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE tokens (
  hash text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  worker text COLLATE "C",
  created_at bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE INDEX tokens_worker ON tokens (worker) WHERE worker IS NOT NULL;
CREATE INDEX tokens_endpoint ON tokens (endpoint);

-- `name` is a JSON string: a person may write what text cannot hold. `scopes` and `endpoints` are
-- JSON lists. `number` is the order of making.
CREATE TABLE keys (
  id text COLLATE "C" PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  scopes text NOT NULL,
  endpoints text,
  created_at bigint NOT NULL,
  last_used_at bigint,
  number bigint GENERATED ALWAYS AS IDENTITY
);

-- What the store knows about this installation, such as its identity. Values stay as large as they
-- are: one of them is there to see whether a disk takes it.
CREATE TABLE meta (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 100
);

ALTER TABLE meta ALTER COLUMN value SET STORAGE EXTERNAL;
