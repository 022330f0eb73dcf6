-- Objects of S3 clients (D59). `content` is the id of a row of `files`, or of an upload whose parts are such rows.
-- `folder` is the key up to its first slash.
CREATE TABLE objects (
  endpoint text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  folder text COLLATE "C",
  content text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  etag text NOT NULL,
  headers text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  PRIMARY KEY (endpoint, bucket, key)
);

CREATE INDEX objects_by_content ON objects (content);
CREATE INDEX objects_by_folder ON objects (endpoint, folder, created_at) WHERE folder IS NOT NULL;
CREATE INDEX objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE buckets (
  endpoint text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (endpoint, name)
);

-- Uploads in parts that are not complete. The parts of a complete one stay as long as an object has them.
CREATE TABLE object_uploads (
  id text COLLATE "C" PRIMARY KEY,
  endpoint text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  headers text NOT NULL,
  created_at bigint NOT NULL
);

CREATE INDEX object_uploads_by_key ON object_uploads (endpoint, bucket, key, id);
CREATE INDEX object_uploads_by_age ON object_uploads (created_at);

CREATE TABLE object_parts (
  upload text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  endpoint text COLLATE "C" NOT NULL,
  file text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  etag text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (upload, number)
);

CREATE INDEX object_parts_by_endpoint ON object_parts (endpoint);
