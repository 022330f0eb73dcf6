-- What was counted of each endpoint in each minute and hour, a row for each server that counted
-- (D40). `tally` is JSON. The endpoint '' stands for the server itself: where it has a row, the
-- server looked, and an endpoint without one had nothing to count.
CREATE TABLE metrics (
  endpoint TEXT NOT NULL,
  -- Length of the step, ms.
  step INTEGER NOT NULL,
  at INTEGER NOT NULL,
  source TEXT NOT NULL,
  tally TEXT NOT NULL,
  PRIMARY KEY (endpoint, step, at, source)
) STRICT, WITHOUT ROWID;

CREATE INDEX metrics_at ON metrics (step, at);
