-- The number of the run, which only a retry raises (D55); NULL: the first.
-- `open` of `attempts` has one more value: 3, over because its worker returned the job (D54).
ALTER TABLE jobs ADD COLUMN run INTEGER;
