-- Whether an attempt holds the delivery: nothing else makes it due before its hold ends (D21).
ALTER TABLE deliveries ADD COLUMN in_flight boolean NOT NULL DEFAULT false;
