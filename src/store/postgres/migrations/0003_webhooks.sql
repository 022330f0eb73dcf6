-- Webhook deliveries (D21). `due_at` is there exactly while the state is pending. The body is a
-- column here, unlike in SQLite: PostgreSQL keeps a large one outside of the row and does not write
-- it again with each try, a small one costs less in the row than a second row with an index would.
CREATE TABLE deliveries (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  endpoint text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  -- A JSON string: a client may write what text cannot hold.
  url text NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  -- JSON list of the last tries.
  tries text NOT NULL DEFAULT '[]',
  used integer NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  due_at bigint,
  body text NOT NULL,
  CHECK ((state = 'pending') = (due_at IS NOT NULL))
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX deliveries_due ON deliveries (due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE due_at IS NULL;
-- For lists, last made first.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, number);
CREATE INDEX deliveries_job ON deliveries (job, number);
CREATE INDEX deliveries_undelivered ON deliveries (state, number) WHERE state <> 'delivered';
