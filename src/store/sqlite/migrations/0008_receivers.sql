-- What is due by endpoint, so that each gets its turn whatever is due for another (D21).
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at) WHERE due_at IS NOT NULL;

-- Host and port of the URL; empty in deliveries of earlier versions.
ALTER TABLE deliveries ADD COLUMN receiver TEXT NOT NULL DEFAULT '';
-- Whether the body is dropped when the delivery is finished: the result of its job was erased on request.
ALTER TABLE deliveries ADD COLUMN erase INTEGER NOT NULL DEFAULT 0;

-- Receivers whose last attempt failed, by the endpoint that calls them.
CREATE TABLE receivers (
  endpoint TEXT NOT NULL,
  receiver TEXT NOT NULL,
  failing_since INTEGER NOT NULL,
  -- Since then: attempts, deliveries that failed in the end, and attempts without an answer in a row.
  failures INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  unanswered INTEGER NOT NULL,
  reason TEXT NOT NULL,
  -- No attempt before.
  paused_until INTEGER,
  disabled_at INTEGER,
  PRIMARY KEY (endpoint, receiver)
) STRICT, WITHOUT ROWID;

-- The secret before the last change; it signs beside the new one until then.
ALTER TABLE endpoints ADD COLUMN former_secret TEXT;
ALTER TABLE endpoints ADD COLUMN former_secret_until INTEGER;
