-- What is due by endpoint, so that each gets its turn whatever is due for another (D21).
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at, number) WHERE due_at IS NOT NULL;

-- Host and port of the URL; empty in deliveries of earlier versions.
ALTER TABLE deliveries ADD COLUMN receiver text COLLATE "C" NOT NULL DEFAULT '';
-- Whether the body is dropped when the delivery is finished: the result of its job was erased on request.
ALTER TABLE deliveries ADD COLUMN erase boolean NOT NULL DEFAULT false;

-- Receivers whose last attempt failed, by the endpoint that calls them.
CREATE TABLE receivers (
  endpoint text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  failing_since bigint NOT NULL,
  -- Since then: attempts, deliveries that failed in the end, and attempts without an answer in a row.
  failures bigint NOT NULL,
  failed bigint NOT NULL,
  unanswered bigint NOT NULL,
  reason text NOT NULL,
  -- No attempt before.
  paused_until bigint,
  disabled_at bigint,
  PRIMARY KEY (endpoint, receiver)
);

-- The secret before the last change; it signs beside the new one until then.
ALTER TABLE endpoints ADD COLUMN former_secret text;
ALTER TABLE endpoints ADD COLUMN former_secret_until bigint;
