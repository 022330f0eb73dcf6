-- Bytes that a job has stored, and the sum for each endpoint (D43); 0 for what earlier versions wrote.
ALTER TABLE jobs ADD COLUMN input_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN output_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queues ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
