/** Claimed jobs as their worker gets them: with `s3Config` decrypted (D22). */
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

const UNREADABLE =
	"The s3Config of the job was stored under another SLUICE_SECRET and cannot be read. " +
	"Submit the job again, or start the service with its earlier secret.";

/** The jobs for the worker, and those that must fail instead, each with its error. */
export function decryptClaimed(
	claimed: readonly Claimed[],
	encryption: Encryption,
): { jobs: DispatchedJob[]; unreadable: { id: string; error: string }[] } {
	const jobs: DispatchedJob[] = [];
	const unreadable: { id: string; error: string }[] = [];
	for (const { job, input } of claimed) {
		const { id, attempt, s3Config } = job;
		const decrypted =
			s3Config === undefined
				? { ok: true as const, text: undefined }
				: encryption.decrypt(s3Config);
		if (decrypted.ok) jobs.push({ id, attempt, input, s3Config: decrypted.text });
		else unreadable.push({ id, error: UNREADABLE });
	}
	return { jobs, unreadable };
}
