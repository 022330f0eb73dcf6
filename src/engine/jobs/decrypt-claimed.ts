/**
 * Claimed jobs as their worker gets them: with `s3Config` opened, which is kept sealed until here
 * (D22).
 */
import type { Claimed } from "../../store/contract/jobs.ts";
import type { DispatchedJob } from "../api.ts";
import type { Encryption } from "../access/encryption.ts";

/** Why a job whose `s3Config` cannot be opened fails. */
const UNREADABLE =
	"The s3Config of the job was kept under another SLUICE_SECRET and cannot be read. Submit the job anew, or start the service with the secret it had.";

/** The jobs to hand out, and those that must fail instead, with the sentence why. */
export function decryptClaimed(
	claimed: readonly Claimed[],
	seal: Encryption,
): { handed: DispatchedJob[]; unreadable: { id: string; error: string }[] } {
	const handed: DispatchedJob[] = [];
	const unreadable: { id: string; error: string }[] = [];
	for (const { job, input } of claimed) {
		const { id, attempt, s3Config } = job;
		const opened =
			s3Config === undefined ? { ok: true as const, text: undefined } : seal.open(s3Config);
		if (opened.ok) handed.push({ id, attempt, input, s3Config: opened.text });
		else unreadable.push({ id, error: UNREADABLE });
	}
	return { handed, unreadable };
}
