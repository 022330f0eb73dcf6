-- Objects of S3 clients (D59). `content` is the id of a row of `files`, or of an upload whose parts are such rows.
-- `folder` is the key up to its first slash.
CREATE TABLE objects (
  endpoint TEXT NOT NULL,
  bucket TEXT NOT NULL,
  key TEXT NOT NULL,
  folder TEXT,
  content TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  etag TEXT NOT NULL,
  headers TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (endpoint, bucket, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX objects_by_content ON objects (content);
CREATE INDEX objects_by_folder ON objects (endpoint, folder, created_at) WHERE folder IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE buckets (
  endpoint TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (endpoint, name)
) STRICT, WITHOUT ROWID;

-- Uploads in parts that are not complete. The parts of a complete one stay as long as an object has them.
CREATE TABLE object_uploads (
  id TEXT NOT NULL PRIMARY KEY,
  endpoint TEXT NOT NULL,
  bucket TEXT NOT NULL,
  key TEXT NOT NULL,
  headers TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX object_uploads_by_key ON object_uploads (endpoint, bucket, key, id);
CREATE INDEX object_uploads_by_age ON object_uploads (created_at);

CREATE TABLE object_parts (
  upload TEXT NOT NULL,
  number INTEGER NOT NULL,
  endpoint TEXT NOT NULL,
  file TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  etag TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (upload, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX object_parts_by_endpoint ON object_parts (endpoint);
