-- Logins to registries of container images (D45); passwords are encrypted.
CREATE TABLE registries (
  registry TEXT PRIMARY KEY,
  username TEXT NOT NULL,
  password TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
