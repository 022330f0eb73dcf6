-- The small tables have the same columns in both dialects: with one server this one stays empty.
ALTER TABLE workers ADD COLUMN server TEXT;
