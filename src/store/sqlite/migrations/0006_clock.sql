-- Steps of the time of day against the job clock. Not used any more.
CREATE TABLE clock_steps (
  serial INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  ahead INTEGER NOT NULL
) STRICT;
