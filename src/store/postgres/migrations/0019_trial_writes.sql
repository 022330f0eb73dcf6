-- Each trial write of an outage leaves nine dead rows. A crash of PostgreSQL resets their count, so
-- 100 may never be reached.
ALTER TABLE meta SET (toast.autovacuum_vacuum_threshold = 5);
