/** Backups of a running service (D46). */
import { ERRORS } from "./errors.ts";
import { NO_BODY, route } from "../../kernel/api/definition/route.ts";
import { COUNT, object } from "../../kernel/api/definition/schema.ts";

export const BACKUP_STATUS = object({
	state: {
		enum: ["none", "copying", "sending"],
		description: "copying: the service copies the store to its disk; sending: the client reads that copy.",
	},
	doneBytes: { ...COUNT, description: "Copied or sent so far." },
	totalBytes: { ...COUNT, description: "In all; 0 while unknown." },
});

const CREATE_BACKUP = route("createBackup", "POST /v1/backup", "admin", {
	summary:
		"Copies the SQLite store while the service runs and sends the copy, which does not contain the key for secrets.",
	answer: {
		description: "A tar of backup.json, sluice.db and SHA256SUMS, which is last. It is complete only with that.",
		media: "application/x-tar",
	},
	body: NO_BODY,
	errors: [...Object.values(ERRORS), "not_ready"],
});

const GET_BACKUP = route("getBackup", "GET /v1/backup", "admin", {
	summary: "The progress of the backup that is being made.",
	answer: {
		description: "The progress.",
		schema: BACKUP_STATUS,
	},
});

export const BACKUP_ROUTES = [CREATE_BACKUP, GET_BACKUP] as const;
