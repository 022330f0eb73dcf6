-- Rates and requests in progress of all servers together (D24). Nothing here outlives a crash of
-- the database, which forgets what was counted in the last 10 s: tables that are not logged cost no
-- flush, so that a request waits for no disk. All of it belongs to requests of the last seconds.

-- One row for each endpoint and operation that was asked for lately. A counter locks it, so that
-- one counts after the other.
CREATE UNLOGGED TABLE limit_budgets (
  endpoint text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  -- Sum of `requests` in `limit_times`.
  used bigint NOT NULL,
  -- Nothing in `limit_times` is older, or newer: searches pass over what was removed.
  oldest bigint NOT NULL,
  newest bigint NOT NULL,
  PRIMARY KEY (endpoint, operation)
) WITH (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Requests that were let in, by the millisecond.
CREATE UNLOGGED TABLE limit_times (
  endpoint text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (endpoint, operation, at)
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

-- Requests in progress at each server, as it reports; those of a server that has stopped reporting
-- do not count after `until`.
CREATE UNLOGGED TABLE limit_places (
  endpoint text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  held bigint NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (endpoint, operation, server)
) WITH (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- What `LimitStore.take` says, one row for each that is asked. A function, because what follows the
-- lock must see what others wrote before they gave it free: in one statement without it all would
-- be read as it was at the beginning. Callers ask in one order, so that no two wait for each other.
CREATE FUNCTION take_limits(
  asking text, present bigint, window_ms bigint, alive_until bigint,
  endpoints text[], operations text[], rates bigint[], at_once bigint[], holds bigint[], counts bigint[]
) RETURNS TABLE (granted bigint, used bigint, oldest bigint, free_at bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  e text;
  o text;
  budget limit_budgets;
  expired bigint;
  elsewhere bigint;
  changed boolean;
BEGIN
  FOR i IN 1 .. cardinality(endpoints) LOOP
    e := endpoints[i];
    o := operations[i];
    granted := 0;
    used := 0;
    oldest := NULL;
    free_at := NULL;
    IF counts[i] > 0 THEN
      LOOP
        SELECT * INTO budget FROM limit_budgets WHERE endpoint = e AND operation = o FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO limit_budgets VALUES (e, o, 0, present, present) ON CONFLICT DO NOTHING;
      END LOOP;
      changed := false;
      IF budget.used > 0 AND (budget.oldest <= present - window_ms OR budget.newest > present + window_ms) THEN
        WITH removed AS (
          DELETE FROM limit_times WHERE endpoint = e AND operation = o AND at >= budget.oldest
            AND at <= present - window_ms RETURNING requests
        ) SELECT coalesce(sum(requests), 0) INTO expired FROM removed;
        budget.used := budget.used - expired;
        -- What is later than a whole window from now was counted by a clock that was wrong.
        IF budget.newest > present + window_ms THEN
          WITH removed AS (
            DELETE FROM limit_times WHERE endpoint = e AND operation = o AND at > present + window_ms
              RETURNING requests
          ) SELECT coalesce(sum(requests), 0) INTO expired FROM removed;
          budget.used := budget.used - expired;
        END IF;
        SELECT at INTO budget.oldest FROM limit_times WHERE endpoint = e AND operation = o
          AND at > present - window_ms ORDER BY at LIMIT 1;
        changed := true;
      END IF;

      granted := counts[i];
      IF rates[i] IS NOT NULL THEN
        granted := least(granted, rates[i] - budget.used);
      END IF;
      IF at_once[i] IS NOT NULL THEN
        SELECT coalesce(sum(held), 0) INTO elsewhere FROM limit_places WHERE endpoint = e
          AND operation = o AND server <> asking AND until > present;
        granted := least(granted, at_once[i] - holds[i] - elsewhere);
      END IF;
      granted := greatest(granted, 0);

      IF granted > 0 THEN
        IF rates[i] IS NOT NULL THEN
          INSERT INTO limit_times AS times VALUES (e, o, present, granted)
          ON CONFLICT (endpoint, operation, at) DO UPDATE SET requests = times.requests + excluded.requests;
          budget.oldest := least(CASE WHEN budget.used > 0 THEN budget.oldest END, present);
          budget.used := budget.used + granted;
        END IF;
        budget.newest := greatest(CASE WHEN budget.newest <= present + window_ms THEN budget.newest END,
          present);
        changed := true;
      END IF;
      IF changed THEN
        UPDATE limit_budgets SET used = budget.used, oldest = coalesce(budget.oldest, present),
          newest = budget.newest WHERE endpoint = e AND operation = o;
      END IF;

      used := budget.used;
      IF used > 0 THEN
        oldest := budget.oldest;
      END IF;
      IF used > rates[i] AND rates[i] > 0 THEN
        SELECT at + window_ms INTO free_at
        FROM (SELECT at, sum(requests) OVER (ORDER BY at) AS so_far FROM limit_times WHERE endpoint = e
          AND operation = o AND at >= budget.oldest) AS times
        WHERE so_far > used - rates[i] ORDER BY at LIMIT 1;
      ELSIF used >= rates[i] THEN
        -- With a rate of 0 no place ever comes free: the whole window is the least that can be said.
        free_at := CASE WHEN rates[i] = 0 THEN present ELSE oldest END + window_ms;
      END IF;
    END IF;
    IF at_once[i] IS NOT NULL THEN
      INSERT INTO limit_places VALUES (e, o, asking, holds[i] + granted, alive_until)
      ON CONFLICT (endpoint, operation, server) DO UPDATE SET held = excluded.held, until = excluded.until;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
