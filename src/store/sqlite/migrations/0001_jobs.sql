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
  purged_to INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The record without its texts, so that a change of state never rewrites them.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  queue INTEGER NOT NULL,
  operation TEXT NOT NULL,
  low_priority INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED',
    'TIMED_OUT')),
  submitted_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  losses INTEGER NOT NULL DEFAULT 0,
  returns INTEGER NOT NULL DEFAULT 0,
  missed INTEGER NOT NULL DEFAULT 0,
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
  -- Place in the queue, smallest first: below 0 for jobs that joined at the front. Kept while it runs.
  rank INTEGER NOT NULL,
  -- Number of the next chunk, and of the next one to deliver (D7).
  next_chunk INTEGER NOT NULL DEFAULT 0,
  cursor INTEGER NOT NULL DEFAULT 0
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

-- Texts that are large, in blocks with successive numbers: `rest` are the bytes of the text from
-- this block on, so that the last one is known by its size. What such a text belongs to holds the
-- number of its first block.
CREATE TABLE blocks (
  number INTEGER PRIMARY KEY,
  rest INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- First blocks of texts that nothing refers to any more, to be removed.
CREATE TABLE dropped_blocks (
  number INTEGER PRIMARY KEY
) STRICT;

-- Payloads are text, or the number of the first block of a large one.
CREATE TABLE inputs (
  seq INTEGER PRIMARY KEY,
  input ANY NOT NULL
) STRICT;

-- While a job runs, `output` is its latest progress value (D6). `error` comes first, so that a list
-- reads it without passing the output.
CREATE TABLE results (
  seq INTEGER PRIMARY KEY,
  error TEXT,
  output ANY
) STRICT;

CREATE TABLE chunks (
  seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (seq, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  worker TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  open INTEGER NOT NULL,
  missed INTEGER NOT NULL,
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
