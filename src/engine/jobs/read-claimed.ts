/** Claimed jobs as their worker gets them: with their inputs, and `s3Config` decrypted (D22). */
import type { JsonText } from "../../core/json/json-text.ts";
import type { Claimed } from "../../store/contract/jobs.ts";
import type { Encryption } from "../access/encryption.ts";

/** A job for a worker. */
export interface DispatchedJob {
	id: string;
	attempt: number;
	input: JsonText;
	/** JSON text. */
	s3Config?: string | undefined;
}

/** A job that must fail instead. `damage`: for the log. */
interface UnreadableJob {
	id: string;
	error: string;
	damage?: string | undefined;
}

const OTHER_SECRET =
	"The s3Config of the job was stored under another SLUICE_SECRET and cannot be read. " +
	"Submit the job again, or start the service with its earlier secret.";

const DAMAGED = "The stored input of the job is damaged: it is not as it was submitted. Submit the job again.";

/** The jobs for the worker, and those that must fail instead, each with its error. */
export function readClaimed(
	claimed: readonly Claimed[],
	encryption: Encryption,
): { jobs: DispatchedJob[]; unreadable: UnreadableJob[] } {
	const jobs: DispatchedJob[] = [];
	const unreadable: UnreadableJob[] = [];
	for (const { job, input, damage } of claimed) {
		const { id, attempt, s3Config } = job;
		const decrypted = s3Config === undefined ? { ok: true as const, text: undefined } : encryption.decrypt(s3Config);
		if (input === undefined) unreadable.push({ id, error: DAMAGED, damage });
		else if (decrypted.ok) jobs.push({ id, attempt, input, s3Config: decrypted.text });
		else unreadable.push({ id, error: OTHER_SECRET });
	}
	return { jobs, unreadable };
}
