-- Batches of requests (D57). `progress` is JSON of the module; the files that it names are rows of `files`.
CREATE TABLE batches (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  key text NOT NULL,
  created_at bigint NOT NULL,
  cancelled_at bigint,
  is_open boolean NOT NULL,
  version bigint NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  progress text NOT NULL
);

CREATE INDEX batches_by_age ON batches (endpoint, id);
CREATE INDEX batches_by_fingerprint ON batches (endpoint, fingerprint, created_at);
CREATE INDEX batches_open ON batches (id) WHERE is_open;
CREATE INDEX batches_ended ON batches (created_at, id) WHERE NOT is_open;
