/** Errors of backups (D46). */
import { errorTable } from "../../kernel/core/error-table.ts";

export const ERRORS = errorTable({
	backup_running: {
		status: 409,
		sentence:
			"Another backup is being made; this server makes one at a time. Try again when it has ended: " +
			"GET /v1/backup shows its progress.",
		advice: "Wait until the other one has ended.",
	},
	backup_elsewhere: {
		status: 409,
		sentence:
			"The store is in PostgreSQL: use its own tools for backups, such as " +
			'pg_dump --format=custom --file=sluice.dump "$SLUICE_STORE" (or continuously, with pgBackRest or WAL archiving).',
		advice: "Use the tools of PostgreSQL ([backup](../guides/backup.md)).",
	},
	backup_space: {
		status: 507,
		sentence:
			"A backup needs {needed} MB on the disk of the store for its temporary copy, but only {free} MB are free " +
			"in addition to the reserve of {reserve} MB for results. Free some space; nothing was written.",
		isExpected: true,
		advice: "Free space on the disk of the store, or lower `budgets.reservedDisk`.",
	},
	backup_failed: {
		status: 500,
		sentence: "The backup failed ({why}), and its temporary copy was removed. Try again.",
		advice: "Try again; the log has the details.",
	},
});
