-- CRC-32 of texts in rows (decision 0053): absent where there is none, where the text is in a payload
-- file, and in rows of earlier versions.
ALTER TABLE inputs ADD COLUMN sum INTEGER;
ALTER TABLE results ADD COLUMN output_sum INTEGER;
ALTER TABLE results ADD COLUMN error_sum INTEGER;
ALTER TABLE chunks ADD COLUMN sum INTEGER;
