-- Files that clients uploaded (D56).
CREATE TABLE files (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  name text NOT NULL,
  purpose text NOT NULL,
  type text NOT NULL,
  bytes bigint NOT NULL,
  key text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint
);

CREATE INDEX files_by_age ON files (endpoint, id);
CREATE INDEX files_by_purpose ON files (endpoint, purpose, id);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- What the rows of each endpoint have together, changed in the same transactions.
CREATE TABLE file_totals (
  endpoint text COLLATE "C" PRIMARY KEY,
  files bigint NOT NULL,
  bytes bigint NOT NULL
);

-- Bytes of files, 1 MiB in a row. They are put before the row of their file, and removed if that never follows.
-- `written_at` is before `content`, so that a scan for old pieces reads no content.
CREATE TABLE file_pieces (
  file text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  written_at bigint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (file, number)
);

-- Content is mostly compressed already: PostgreSQL need not try.
ALTER TABLE file_pieces ALTER COLUMN content SET STORAGE EXTERNAL;
