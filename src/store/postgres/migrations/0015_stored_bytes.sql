-- Bytes that a job has stored, and the sum for each endpoint (D43); 0 for what earlier versions wrote.
ALTER TABLE jobs ADD COLUMN input_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN output_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE queue_counts ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;
