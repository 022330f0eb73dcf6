-- In a database that no server has used yet (it would have left a row in meta), the columns of jobs and
-- deliveries (0001) get another order: first what stays, then what changes. Pages have room for the next
-- versions of their rows. The log of an update within a page leaves out what the beginning and the end of
-- both versions have in common, so that it repeats no input and no body (decision 0056).
LOCK TABLE meta IN SHARE MODE;
DO $$ BEGIN
IF NOT EXISTS (SELECT FROM meta) THEN
  DROP TABLE jobs, deliveries;
  CREATE TABLE jobs (
    number bigint NOT NULL, submitted_at bigint NOT NULL, ttl_ms bigint NOT NULL,
    execution_timeout_ms bigint NOT NULL, lease_ms bigint NOT NULL, record_ms bigint NOT NULL,
    retain_ms bigint NOT NULL, rank bigint NOT NULL, epoch bigint NOT NULL,
    input_bytes bigint NOT NULL DEFAULT 0, low_priority boolean NOT NULL,
    endpoint text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, operation text NOT NULL,
    webhook text, s3_config text,
    -- How the submission is called in other systems: X-Request-Id, and traceparent with tracestate.
    request_id text, trace text,
    input text,
    state text COLLATE "C" NOT NULL CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED',
      'CANCELLED', 'TIMED_OUT')),
    erased boolean NOT NULL, past boolean NOT NULL, queued_at bigint NOT NULL, started_at bigint, ended_at bigint,
    -- The last retry.
    retried_at bigint,
    lease_until bigint, due_at bigint NOT NULL, attempt bigint NOT NULL, worker text COLLATE "C",
    -- The version of the release that launched the worker.
    release bigint,
    losses bigint NOT NULL, returns bigint NOT NULL, missed bigint NOT NULL, next_chunk bigint NOT NULL,
    cursor bigint NOT NULL, reader text, reader_end bigint, reader_session bigint,
    output_bytes bigint NOT NULL DEFAULT 0, output text, error text,
    PRIMARY KEY (endpoint, id)
  );
  CREATE INDEX jobs_waiting ON jobs (endpoint, low_priority, rank) WHERE state = 'IN_QUEUE';
  CREATE INDEX jobs_running ON jobs (endpoint, worker) WHERE state = 'IN_PROGRESS';
  CREATE INDEX jobs_live_due ON jobs (endpoint, due_at) WHERE ended_at IS NULL;
  CREATE INDEX jobs_ended_due ON jobs (endpoint, due_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX jobs_listed ON jobs (endpoint, number) WHERE number > 0;
  CREATE INDEX jobs_listed_ended ON jobs (endpoint, state, number)
    WHERE state NOT IN ('IN_QUEUE', 'IN_PROGRESS');
  CREATE TABLE deliveries (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at bigint NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE, endpoint text COLLATE "C" NOT NULL, job text COLLATE "C" NOT NULL,
    url text NOT NULL, receiver text COLLATE "C" NOT NULL DEFAULT '', body text NOT NULL,
    erase boolean NOT NULL DEFAULT false, in_flight boolean NOT NULL DEFAULT false,
    used integer NOT NULL DEFAULT 0, due_at bigint,
    state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    tries text NOT NULL DEFAULT '[]',
    CHECK ((state = 'pending') = (due_at IS NOT NULL))
  );
  CREATE INDEX deliveries_due ON deliveries (endpoint, due_at, number) WHERE due_at IS NOT NULL;
  CREATE INDEX deliveries_over ON deliveries (created_at) WHERE due_at IS NULL;
  CREATE INDEX deliveries_endpoint ON deliveries (endpoint, number);
  CREATE INDEX deliveries_job ON deliveries (job, number);
  CREATE INDEX deliveries_undelivered ON deliveries (state, number) WHERE state <> 'delivered';
ELSE
  ALTER TABLE jobs ADD COLUMN release bigint, ADD COLUMN retried_at bigint, ADD COLUMN request_id text,
    ADD COLUMN trace text;
END IF;
END $$;

ALTER TABLE jobs SET (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE deliveries SET (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0
);

-- Hash of the settings that the worker of a token was launched with: every server can find its version.
ALTER TABLE tokens ADD COLUMN launched_as text;
