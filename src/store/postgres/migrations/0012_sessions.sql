-- Sessions of the console (D31). They end with their key.
CREATE TABLE sessions (
  number bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  page text NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  mark text NOT NULL,
  by_link boolean NOT NULL,
  created_at bigint NOT NULL,
  until bigint NOT NULL,
  last_used_at bigint NOT NULL,
  address text NOT NULL,
  client text NOT NULL
);

CREATE INDEX sessions_key ON sessions (key_id, last_used_at);
