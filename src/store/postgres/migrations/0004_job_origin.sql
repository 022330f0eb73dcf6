-- The version of the release that launched the worker of the job.
ALTER TABLE jobs ADD COLUMN release bigint;
-- The last retry.
ALTER TABLE jobs ADD COLUMN retried_at bigint;
-- How the submission is called in other systems: X-Request-Id, and traceparent with tracestate.
ALTER TABLE jobs ADD COLUMN request_id text;
ALTER TABLE jobs ADD COLUMN trace text;
-- Hash of the settings that the worker of a token was launched with: every server can find its version.
ALTER TABLE tokens ADD COLUMN launched_as text;
