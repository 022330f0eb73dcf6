-- Steps of this database's clock against the job clock: from the job time `at` on it is ahead by `ahead` ms
-- (docs/decisions/0030).
CREATE TABLE clock_steps (
  serial bigint PRIMARY KEY,
  at bigint NOT NULL,
  ahead bigint NOT NULL
);
