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
  -- Bytes of inputs, results and chunks of its jobs (D43).
  stored_bytes bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (endpoint, slot)
) WITH (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);

-- The record with its texts. A change of state does not rewrite large ones: PostgreSQL keeps those
-- outside of the row. First the columns that stay, then those that change, and pages have room for the
-- next versions of their rows: the log of an update within a page leaves out what the beginning and the
-- end of both versions have in common, so that it repeats no input (decision 0056).
CREATE TABLE jobs (
  -- Place in lists, last submitted first.
  number bigint NOT NULL,
  submitted_at bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  execution_timeout_ms bigint NOT NULL,
  lease_ms bigint NOT NULL,
  record_ms bigint NOT NULL,
  retain_ms bigint NOT NULL,
  -- Place in the queue, smallest first: below 0 for jobs that joined at the front. Kept while it runs.
  rank bigint NOT NULL,
  -- The epoch of its queue when it began to wait.
  epoch bigint NOT NULL,
  input_bytes bigint NOT NULL DEFAULT 0,
  low_priority boolean NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  operation text NOT NULL,
  webhook text,
  s3_config text,
  -- How the submission is called in other systems: X-Request-Id, and traceparent with tracestate.
  request_id text,
  trace text,
  input text,
  state text COLLATE "C" NOT NULL CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED',
    'CANCELLED', 'TIMED_OUT')),
  erased boolean NOT NULL,
  -- Whether the job has rows in `attempts`.
  past boolean NOT NULL,
  queued_at bigint NOT NULL,
  started_at bigint,
  ended_at bigint,
  -- The last retry.
  retried_at bigint,
  lease_until bigint,
  due_at bigint NOT NULL,
  attempt bigint NOT NULL,
  worker text COLLATE "C",
  -- The version of the release that launched the worker.
  release bigint,
  losses bigint NOT NULL,
  returns bigint NOT NULL,
  -- Pings in a row that omitted the job, and the take that denied it (D16).
  missed bigint NOT NULL,
  denied_at bigint,
  -- Number of the next chunk, and of the next one to deliver (D7).
  next_chunk bigint NOT NULL,
  cursor bigint NOT NULL,
  -- Who is writing chunks to its client, up to which number, and the session of its server, whose
  -- end frees the range.
  reader text,
  reader_end bigint,
  reader_session bigint,
  output_bytes bigint NOT NULL DEFAULT 0,
  -- While the job runs, its latest progress value (D6).
  output text,
  -- A JSON string: a worker's sentence may hold what text cannot.
  error text,
  PRIMARY KEY (endpoint, id)
) WITH (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
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
  -- The last call after its start that showed that it ran (D16).
  sign_at bigint,
  -- How the process of its worker ended (D47).
  worker_end text,
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

-- Endpoints, their workers, and who may call: worker tokens (D26) and API keys (D30).

CREATE TABLE endpoints (
  id text COLLATE "C" PRIMARY KEY,
  settings text NOT NULL,
  secret text,
  paused boolean NOT NULL DEFAULT false,
  removing boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL
);

-- Versions of what the workers of an endpoint are launched with.
CREATE TABLE releases (
  endpoint text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  launch_hash text NOT NULL,
  state text NOT NULL,
  -- Crashes of its workers before one was healthy.
  failures integer NOT NULL,
  source text NOT NULL,
  reason text,
  created_at bigint NOT NULL,
  created_by text,
  -- JSON.
  diff text NOT NULL,
  -- JSON with encrypted variables.
  settings text NOT NULL,
  PRIMARY KEY (endpoint, version)
);

-- Templates, logins to registries, network volumes and secrets of the management API.
CREATE TABLE resources (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('template', 'registry', 'volume', 'secret')),
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- JSON of the members that are not secret.
  body text NOT NULL,
  -- Encrypted: env of a template, user and password of a registry, value of a secret.
  sealed text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX resources_name ON resources (kind, name) WHERE kind IN ('registry', 'secret');

CREATE TABLE workers (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  launcher text NOT NULL,
  handle text,
  url text,
  created_at bigint NOT NULL,
  -- The server whose launcher started the worker: no other one may take it over or end it (D34).
  server text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE tokens (
  hash text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  worker text COLLATE "C",
  created_at bigint NOT NULL,
  -- Hash of the settings that the worker was launched with: every server can find its version.
  launched_as text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE INDEX tokens_worker ON tokens (worker) WHERE worker IS NOT NULL;
CREATE INDEX tokens_endpoint ON tokens (endpoint);

-- `scopes` and `endpoints` are JSON lists.
CREATE TABLE keys (
  id text COLLATE "C" PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  name text NOT NULL,
  scopes text NOT NULL,
  endpoints text,
  created_at bigint NOT NULL,
  last_used_at bigint,
  expires_at bigint,
  last_used_address text
);

-- What the store knows about this installation, such as its identity. Values stay as large as they
-- are: one of them is there to see whether a disk takes it. Each trial write of an outage leaves nine
-- dead rows, and a crash resets their count, so the threshold of vacuum is low.
CREATE TABLE meta (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5
);

ALTER TABLE meta ALTER COLUMN value SET STORAGE EXTERNAL;

-- Sessions of the console (D31). They end with their key.
CREATE TABLE sessions (
  -- By the sum of these, other servers notice that sessions have changed.
  number bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  page text NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  mark text NOT NULL,
  by_link boolean NOT NULL,
  created_at bigint NOT NULL,
  until bigint NOT NULL,
  last_used_at bigint NOT NULL,
  address text NOT NULL,
  client text NOT NULL
);

CREATE INDEX sessions_key ON sessions (key_id, last_used_at);

-- Actions of administrators (D42). `entry` is JSON.
CREATE TABLE audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  entry text NOT NULL,
  key_id text COLLATE "C" NOT NULL DEFAULT '',
  action text COLLATE "C" NOT NULL DEFAULT ''
);

CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_key ON audit (key_id, number);
CREATE INDEX audit_action ON audit (action, number);

CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The audit log is append-only.';
END $$;

CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_append_only();

-- Logins to registries of container images (D45); passwords are encrypted.
CREATE TABLE registries (
  registry text COLLATE "C" PRIMARY KEY,
  username text NOT NULL,
  password text NOT NULL,
  updated_at bigint NOT NULL
);

-- Hosts of the configuration that get no workers (D44).
CREATE TABLE drained_hosts (
  name text PRIMARY KEY,
  since bigint NOT NULL
);

-- Launched workers that have ended (D47). `record` is JSON.
CREATE TABLE ended_workers (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  ended_at bigint NOT NULL,
  record text NOT NULL
);

CREATE INDEX ended_workers_of ON ended_workers (endpoint, ended_at);

-- Webhook deliveries (D21). `due_at` is there exactly while the state is pending. The body is a
-- column here, unlike in SQLite: PostgreSQL keeps a large one outside of the row and does not write
-- it again with each try, a small one costs less in the row than a second row with an index would.
-- The order of columns and the room in pages are as those of jobs.
CREATE TABLE deliveries (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at bigint NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  endpoint text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  -- A JSON string: a client may write what text cannot hold.
  url text NOT NULL,
  -- Host and port of the URL.
  receiver text COLLATE "C" NOT NULL DEFAULT '',
  body text NOT NULL,
  -- Whether the body is dropped when the delivery is finished: the result of its job was erased on request.
  erase boolean NOT NULL DEFAULT false,
  used integer NOT NULL DEFAULT 0,
  due_at bigint,
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  -- JSON list of the last tries.
  tries text NOT NULL DEFAULT '[]',
  CHECK ((state = 'pending') = (due_at IS NOT NULL))
) WITH (
  fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0
);

-- What is due by endpoint, so that each gets its turn whatever is due for another.
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at, number) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE due_at IS NULL;
-- For lists, last made first.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, number);
CREATE INDEX deliveries_job ON deliveries (job, number);
CREATE INDEX deliveries_undelivered ON deliveries (state, number) WHERE state <> 'delivered';

-- Receivers whose last attempt got no answer, by the endpoint that calls them.
CREATE TABLE receivers (
  endpoint text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  -- Attempts without an answer in a row.
  unanswered bigint NOT NULL,
  -- No attempt before.
  paused_until bigint,
  PRIMARY KEY (endpoint, receiver)
);

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

-- What each start of a server admitted in the last seconds, as it reported last.
CREATE TABLE limit_counts (
  run text COLLATE "C" PRIMARY KEY,
  server text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  counts text NOT NULL
) WITH (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 200
);

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

-- What each session of a server committed last: by it a server knows what became of a transaction
-- whose COMMIT got no answer (decision 0017). A transaction that wrote anything writes its
-- number here with its last statement, so that both are committed or neither is.
CREATE TABLE commit_markers (
  -- One connection of one server, from its start to its loss.
  session text COLLATE "C" PRIMARY KEY,
  -- Of the last committed transaction, counted by the session; 0: none.
  serial bigint NOT NULL,
  -- The session was lost, and its server has asked: it commits nothing more.
  closed boolean NOT NULL DEFAULT false,
  -- By the clock of the database. No index, so that updates are HOT.
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
