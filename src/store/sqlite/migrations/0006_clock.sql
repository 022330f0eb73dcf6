-- Steps of the time of day against the job clock: from the job time `at` on it is ahead by `ahead` ms
-- (docs/decisions/0030).
CREATE TABLE clock_steps (
  serial INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  ahead INTEGER NOT NULL
) STRICT;
