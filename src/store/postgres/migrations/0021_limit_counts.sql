-- Each server counts what it admits and reports that; nothing is counted in the database (D24).
DROP FUNCTION take_limits;
DROP TABLE limit_budgets, limit_times, limit_places;

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
