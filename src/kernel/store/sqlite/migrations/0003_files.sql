-- Files that clients uploaded (D56). Their bytes are in the folder `<store>.files`, in a file named by the id; a file
-- there without a row is removed.
CREATE TABLE files (
  id TEXT NOT NULL PRIMARY KEY,
  endpoint TEXT NOT NULL,
  name TEXT NOT NULL,
  purpose TEXT NOT NULL,
  type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX files_by_age ON files (endpoint, id);
CREATE INDEX files_by_purpose ON files (endpoint, purpose, id);
CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;

-- What the rows of each endpoint have together, changed in the same transactions.
CREATE TABLE file_totals (
  endpoint TEXT NOT NULL PRIMARY KEY,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
