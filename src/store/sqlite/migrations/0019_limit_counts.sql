-- What each start of the server admitted in the last seconds, as it reported last (D24).
CREATE TABLE limit_counts (
  run TEXT PRIMARY KEY,
  server TEXT NOT NULL,
  at INTEGER NOT NULL,
  counts TEXT NOT NULL
) STRICT;
