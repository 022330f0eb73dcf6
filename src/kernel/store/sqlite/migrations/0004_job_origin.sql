-- The version of the release that launched the worker of the job.
ALTER TABLE jobs ADD COLUMN release INTEGER;
-- The last retry.
ALTER TABLE jobs ADD COLUMN retried_at INTEGER;
-- How the submission is called in other systems: X-Request-Id, and traceparent with tracestate.
ALTER TABLE jobs ADD COLUMN request_id TEXT;
ALTER TABLE jobs ADD COLUMN trace TEXT;
-- Hash of the settings that the worker of a token was launched with: every server can find its version.
ALTER TABLE tokens ADD COLUMN launched_as TEXT;
