-- Jobs with their texts, attempts and chunks, the counts of each endpoint (D13), and the keys under
-- which jobs were submitted (D14). Everything is keyed by the endpoint first, so that the tables
-- can be spread by it. Ids compare byte by byte (COLLATE "C"): faster, and the same everywhere.

-- One row for each endpoint that ever had a job.
CREATE TABLE queues (
  endpoint text COLLATE "C" PRIMARY KEY,
  -- Waiting jobs of an earlier epoch were purged and are still to be removed (D11); `purged_to` is
  -- the highest rank of them.
  epoch bigint NOT NULL DEFAULT 0,
  cleaned bigint NOT NULL DEFAULT 0,
  purged_to bigint NOT NULL DEFAULT 0
);

-- Counts of an endpoint, the sum of its rows: each writing connection has a slot of its own, so
-- that servers never wait for each other's counts.
CREATE TABLE queue_counts (
  endpoint text COLLATE "C" NOT NULL,
  slot bigint NOT NULL,
  in_queue bigint NOT NULL DEFAULT 0,
  in_queue_low bigint NOT NULL DEFAULT 0,
  in_progress bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  retried bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (endpoint, slot)
) WITH (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

-- The record with its texts. A change of state does not rewrite large ones: PostgreSQL keeps those
-- outside of the row.
CREATE TABLE jobs (
  endpoint text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- Place in lists, last submitted first.
  number bigint NOT NULL,
  operation text NOT NULL,
  low_priority boolean NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED',
    'CANCELLED', 'TIMED_OUT')),
  submitted_at bigint NOT NULL,
  queued_at bigint NOT NULL,
  started_at bigint,
  ended_at bigint,
  attempt bigint NOT NULL,
  worker text COLLATE "C",
  losses bigint NOT NULL,
  returns bigint NOT NULL,
  missed bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  execution_timeout_ms bigint NOT NULL,
  lease_ms bigint NOT NULL,
  lease_until bigint,
  retain_ms bigint NOT NULL,
  record_ms bigint NOT NULL,
  erased boolean NOT NULL,
  due_at bigint NOT NULL,
  webhook text,
  s3_config text,
  -- Place in the queue, smallest first: below 0 for jobs that joined at the front. Kept while it runs.
  rank bigint NOT NULL,
  -- The epoch of its queue when it began to wait.
  epoch bigint NOT NULL,
  -- Whether the job has rows in `attempts`.
  past boolean NOT NULL,
  -- Number of the next chunk, and of the next one to deliver (D7).
  next_chunk bigint NOT NULL,
  cursor bigint NOT NULL,
  -- Who is writing chunks to its client, up to which number, and the session of its server, whose
  -- end frees the range.
  reader text,
  reader_end bigint,
  reader_session bigint,
  input text,
  -- While the job runs, its latest progress value (D6).
  output text,
  -- A JSON string: a worker's sentence may hold what text cannot.
  error text,
  PRIMARY KEY (endpoint, id)
) WITH (
  fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX jobs_waiting ON jobs (endpoint, low_priority, rank) WHERE state = 'IN_QUEUE';
CREATE INDEX jobs_running ON jobs (endpoint, worker) WHERE state = 'IN_PROGRESS';
-- Two, so that lapses and losses are found without passing millions of results that only wait to expire.
CREATE INDEX jobs_live_due ON jobs (endpoint, due_at) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended_due ON jobs (endpoint, due_at) WHERE ended_at IS NOT NULL;
-- For lists, last submitted first; what waits or runs has indexes of its own. Its condition always
-- holds: only who names it may use it, so that a planner without statistics finds a job by its id
-- through the primary key.
CREATE INDEX jobs_listed ON jobs (endpoint, number) WHERE number > 0;
CREATE INDEX jobs_listed_ended ON jobs (endpoint, state, number)
  WHERE state NOT IN ('IN_QUEUE', 'IN_PROGRESS');

CREATE TABLE chunks (
  endpoint text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (endpoint, job, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE attempts (
  endpoint text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  worker text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  outcome text NOT NULL,
  -- 0: over by its worker's word, 1: open, 2: over with its worker's process.
  open bigint NOT NULL,
  missed bigint NOT NULL,
  PRIMARY KEY (endpoint, job, attempt)
);

CREATE INDEX attempts_open ON attempts (endpoint, worker) WHERE open = 1;

-- `job` is the id of a job: its row may be removed before the key.
CREATE TABLE idempotency (
  endpoint text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  key text NOT NULL,
  body_hash text NOT NULL,
  job text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (endpoint, operation, key)
);

CREATE INDEX idempotency_expiry ON idempotency (expires_at);
