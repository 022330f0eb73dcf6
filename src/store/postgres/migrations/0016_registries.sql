-- Logins to registries of container images (D45); passwords are encrypted.
CREATE TABLE registries (
  registry text COLLATE "C" PRIMARY KEY,
  username text NOT NULL,
  password text NOT NULL,
  updated_at bigint NOT NULL
);
