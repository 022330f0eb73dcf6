-- Jobs with their texts, attempts and chunks, the counts of each endpoint (D13), and the keys under
-- which jobs were submitted (D14).

-- One row for each endpoint that ever had a job: a short number for its rows, and its counts.
CREATE TABLE queues (
  number INTEGER PRIMARY KEY,
  endpoint TEXT NOT NULL UNIQUE,
  in_queue INTEGER NOT NULL DEFAULT 0,
  in_queue_low INTEGER NOT NULL DEFAULT 0,
  in_progress INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  retried INTEGER NOT NULL DEFAULT 0,
  -- Waiting jobs whose rank lies between the two, both included, were purged and are still to be
  -- removed (D11).
  purged_from INTEGER NOT NULL DEFAULT 1,
  purged_to INTEGER NOT NULL DEFAULT 0,
  -- Bytes of inputs, results and chunks of its jobs (D43).
  stored_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The record without its texts, so that a change of state never rewrites them.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  queue INTEGER NOT NULL,
  operation TEXT NOT NULL,
  low_priority INTEGER NOT NULL,
  -- Not IN: SQLite would fill a table of the six states for each row that is written.
  state TEXT NOT NULL CHECK (state = 'IN_QUEUE' OR state = 'IN_PROGRESS' OR state = 'COMPLETED' OR
    state = 'FAILED' OR state = 'CANCELLED' OR state = 'TIMED_OUT'),
  submitted_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  -- The last retry.
  retried_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  -- The version of the release that launched the worker.
  release INTEGER,
  losses INTEGER NOT NULL DEFAULT 0,
  returns INTEGER NOT NULL DEFAULT 0,
  -- Pings in a row that omitted the job, and the take that denied it (D16).
  missed INTEGER NOT NULL DEFAULT 0,
  denied_at INTEGER,
  ttl_ms INTEGER NOT NULL,
  execution_timeout_ms INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL,
  lease_until INTEGER,
  retain_ms INTEGER NOT NULL,
  record_ms INTEGER NOT NULL,
  erased INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  webhook TEXT,
  s3_config TEXT,
  -- How the submission is called in other systems: X-Request-Id, and traceparent with tracestate.
  request_id TEXT,
  trace TEXT,
  -- Place in the queue, smallest first: below 0 for jobs that joined at the front. Kept while it runs.
  rank INTEGER NOT NULL,
  -- Number of the next chunk, and of the next one to deliver (D7).
  next_chunk INTEGER NOT NULL DEFAULT 0,
  cursor INTEGER NOT NULL DEFAULT 0,
  input_bytes INTEGER NOT NULL DEFAULT 0,
  output_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `due_at` is there so that lapsed jobs are passed over without reading their rows.
CREATE INDEX jobs_waiting ON jobs (queue, low_priority, rank, due_at) WHERE state = 'IN_QUEUE';
CREATE INDEX jobs_running ON jobs (worker) WHERE state = 'IN_PROGRESS';
-- Two, so that lapses and losses are found without passing millions of results that only wait to expire.
CREATE INDEX jobs_live_due ON jobs (due_at) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended_due ON jobs (due_at) WHERE ended_at IS NOT NULL;
-- For lists, last submitted first: the number of the row is the last member of every index. What
-- waits or runs has indexes of its own.
CREATE INDEX jobs_listed ON jobs (queue);
CREATE INDEX jobs_listed_ended ON jobs (queue, state) WHERE state NOT IN ('IN_QUEUE', 'IN_PROGRESS');

-- Texts in payload files (decision 0014): bytes `at` to `at` + `length` of the file `segment`, with
-- their CRC-32. `refs`: columns that hold this number.
CREATE TABLE payloads (
  number INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL,
  at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  refs INTEGER NOT NULL,
  UNIQUE (segment, at)
) STRICT;

-- Payloads are text, or a number of `payloads`. `sum` is the CRC-32 of a text in its row (decision 0014).
CREATE TABLE inputs (
  seq INTEGER PRIMARY KEY,
  input ANY NOT NULL,
  sum INTEGER
) STRICT;

-- While a job runs, `output` is its latest progress value (D6). `error` comes first, so that a list
-- reads it without passing the output.
CREATE TABLE results (
  seq INTEGER PRIMARY KEY,
  error TEXT,
  output ANY,
  output_sum INTEGER,
  error_sum INTEGER
) STRICT;

CREATE TABLE chunks (
  seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  sum INTEGER,
  PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  worker TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  -- 0: over by its worker's word, 1: open, 2: over with its worker's process.
  open INTEGER NOT NULL,
  missed INTEGER NOT NULL,
  -- The last call after its start that showed that it ran (D16).
  sign_at INTEGER,
  -- How the process of its worker ended (D47).
  worker_end TEXT,
  PRIMARY KEY (seq, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_open ON attempts (worker, seq) WHERE open = 1;

-- `job` is the id of a job: its row may be removed before the key.
CREATE TABLE idempotency (
  queue INTEGER NOT NULL,
  operation TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  job TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (queue, operation, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- Endpoints, their workers, and who may call: worker tokens (D26) and API keys (D30).

CREATE TABLE endpoints (
  id TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  secret TEXT,
  paused INTEGER NOT NULL DEFAULT 0,
  removing INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;

-- Versions of what the workers of an endpoint are launched with.
CREATE TABLE releases (
  endpoint TEXT NOT NULL,
  version INTEGER NOT NULL,
  launch_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  -- Crashes of its workers before one was healthy.
  failures INTEGER NOT NULL,
  source TEXT NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  -- JSON.
  diff TEXT NOT NULL,
  -- JSON with encrypted variables.
  settings TEXT NOT NULL,
  PRIMARY KEY (endpoint, version)
) STRICT, WITHOUT ROWID;

-- Templates, logins to registries, network volumes and secrets of the management API.
CREATE TABLE resources (
  kind TEXT NOT NULL CHECK (kind IN ('template', 'registry', 'volume', 'secret')),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON of the members that are not secret.
  body TEXT NOT NULL,
  -- Encrypted: env of a template, user and password of a registry, value of a secret.
  sealed TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX resources_name ON resources (kind, name) WHERE kind IN ('registry', 'secret');

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  launcher TEXT NOT NULL,
  handle TEXT,
  url TEXT,
  created_at INTEGER NOT NULL,
  -- The server whose launcher started the worker, where servers share the store; here always empty.
  server TEXT
) STRICT;

CREATE TABLE tokens (
  hash TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  worker TEXT,
  created_at INTEGER NOT NULL,
  -- Hash of the settings that the worker was launched with: every server can find its version.
  launched_as TEXT
) STRICT;

CREATE INDEX tokens_worker ON tokens (worker) WHERE worker IS NOT NULL;

-- `scopes` and `endpoints` are JSON lists.
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  endpoints TEXT,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  last_used_address TEXT
) STRICT;

-- What the store knows about this installation, such as its identity.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- Sessions of the console (D31). They end with their key.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  page TEXT NOT NULL,
  key_id TEXT NOT NULL,
  mark TEXT NOT NULL,
  by_link INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  until INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_key ON sessions (key_id, last_used_at);

-- Actions of administrators (D42). `entry` is JSON.
CREATE TABLE audit (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  entry TEXT NOT NULL,
  key_id TEXT NOT NULL DEFAULT '',
  action TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_key ON audit (key_id, number);
CREATE INDEX audit_action ON audit (action, number);

CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'The audit log is append-only.');
END;

-- Logins to registries of container images (D45); passwords are encrypted.
CREATE TABLE registries (
  registry TEXT PRIMARY KEY,
  username TEXT NOT NULL,
  password TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- Hosts of the configuration that get no workers (D44).
CREATE TABLE drained_hosts (
  name TEXT PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Launched workers that have ended (D47). `record` is JSON.
CREATE TABLE ended_workers (
  id TEXT PRIMARY KEY,
  endpoint TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX ended_workers_of ON ended_workers (endpoint, ended_at);

-- What each start of the server admitted in the last seconds, as it reported last (D24).
CREATE TABLE limit_counts (
  run TEXT PRIMARY KEY,
  server TEXT NOT NULL,
  at INTEGER NOT NULL,
  counts TEXT NOT NULL
) STRICT;

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
  due_at INTEGER,
  -- Host and port of the URL.
  receiver TEXT NOT NULL DEFAULT '',
  -- Whether the body is dropped when the delivery is finished: the result of its job was erased on request.
  erase INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What is due by endpoint, so that each gets its turn whatever is due for another.
CREATE INDEX deliveries_due ON deliveries (endpoint, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_over ON deliveries (created_at) WHERE due_at IS NULL;
-- For lists, last made first.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint);
CREATE INDEX deliveries_job ON deliveries (job);
CREATE INDEX deliveries_undelivered ON deliveries (state) WHERE state <> 'delivered';

-- Apart, so that lists and notes of tries never touch them.
CREATE TABLE delivery_bodies (
  number INTEGER PRIMARY KEY,
  -- The body is `body`, then the text `payload` in a file, then `tail`.
  body ANY NOT NULL,
  payload INTEGER,
  tail TEXT
) STRICT;

-- Receivers whose last attempt got no answer, by the endpoint that calls them.
CREATE TABLE receivers (
  endpoint TEXT NOT NULL,
  receiver TEXT NOT NULL,
  -- Attempts without an answer in a row.
  unanswered INTEGER NOT NULL,
  -- No attempt before.
  paused_until INTEGER,
  PRIMARY KEY (endpoint, receiver)
) STRICT, WITHOUT ROWID;

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
