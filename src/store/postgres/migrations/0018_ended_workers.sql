-- Launched workers that have ended (D47), and how the worker of a past attempt did. `record` is JSON.
CREATE TABLE ended_workers (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  ended_at bigint NOT NULL,
  record text NOT NULL
);

CREATE INDEX ended_workers_of ON ended_workers (endpoint, ended_at);

ALTER TABLE attempts ADD COLUMN worker_end text;
