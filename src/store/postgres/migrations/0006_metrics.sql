-- What was counted of each endpoint in each minute and hour, a row for each server that counted
-- (D40). `tally` is JSON. The endpoint '' stands for the server itself: where it has a row, the
-- server looked, and an endpoint without one had nothing to count.
CREATE TABLE metrics (
  endpoint text COLLATE "C" NOT NULL,
  -- Length of the step, ms.
  step bigint NOT NULL,
  at bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  tally text NOT NULL,
  PRIMARY KEY (endpoint, step, at, source)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE INDEX metrics_at ON metrics (step, at);
