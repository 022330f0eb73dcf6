-- Texts in payload files (decision 0047): bytes `at` to `at` + `length` of the file `segment`, with
-- their CRC-32. `refs`: columns that hold this number.
CREATE TABLE payloads (
  number INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL,
  at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  refs INTEGER NOT NULL,
  UNIQUE (segment, at)
) STRICT;

-- The body of a delivery is `body`, then the text `payload` in a file, then `tail`.
ALTER TABLE delivery_bodies ADD COLUMN payload INTEGER;
ALTER TABLE delivery_bodies ADD COLUMN tail TEXT;
