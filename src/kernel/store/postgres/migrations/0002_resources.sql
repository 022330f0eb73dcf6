-- Templates, logins to registries, network volumes and secrets of the management API.
CREATE TABLE resources (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('template', 'registry', 'volume', 'secret')),
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- JSON of the members that are not secret.
  body text NOT NULL,
  -- Encrypted: env of a template, user and password of a registry, value of a secret.
  sealed text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX resources_name ON resources (kind, name) WHERE kind IN ('registry', 'secret');
