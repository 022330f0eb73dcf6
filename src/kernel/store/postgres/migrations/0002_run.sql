-- The number of the run, which only a retry raises (D55); NULL: the first. It is the last column and NULL in nearly
-- all rows, so that updates log no more bytes than before (decision 0056). Changes catalogs only.
-- `open` of `attempts` has one more value: 3, over because its worker returned the job (D54).
ALTER TABLE jobs ADD COLUMN run bigint;
