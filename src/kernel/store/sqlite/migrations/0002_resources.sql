-- Templates, logins to registries, network volumes and secrets of the management API.
CREATE TABLE resources (
  kind TEXT NOT NULL CHECK (kind IN ('template', 'registry', 'volume', 'secret')),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON of the members that are not secret.
  body TEXT NOT NULL,
  -- Encrypted: env of a template, user and password of a registry, value of a secret.
  sealed TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX resources_name ON resources (kind, name) WHERE kind IN ('registry', 'secret');
