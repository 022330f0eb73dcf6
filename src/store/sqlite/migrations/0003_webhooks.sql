-- Webhook deliveries (D21). `due_at` is there exactly while the state is pending.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  endpoint TEXT NOT NULL,
  job TEXT NOT NULL,
  url TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  -- JSON list of the last tries.
  tries TEXT NOT NULL DEFAULT '[]',
  used INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  due_at INTEGER
) STRICT;

CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE due_at IS NULL;
-- For lists, last made first.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint);
CREATE INDEX deliveries_job ON deliveries (job);
CREATE INDEX deliveries_undelivered ON deliveries (state) WHERE state <> 'delivered';

-- Apart, so that lists and notes of tries never touch them.
CREATE TABLE delivery_bodies (
  number INTEGER PRIMARY KEY,
  body ANY NOT NULL
) STRICT;
