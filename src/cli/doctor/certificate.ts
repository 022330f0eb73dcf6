/** `sluice doctor` check of the TLS certificate. */
import { readCertificate, type TlsFiles } from "../../certificate.ts";
import { type Finding, ok, problem, warning } from "../../core/finding.ts";

const DAY_MS = 86_400_000;
/** Automatic renewal begins weeks before the end: later it has failed. */
const SOON_DAYS = 14;

export function certificateFinding(files: TlsFiles, now: number): Finding {
	try {
		const days = Math.floor((readCertificate(files, now).expiresAt - now) / DAY_MS);
		const message = `The certificate in ${files.cert} is valid for ${days} more days.`;
		return days < SOON_DAYS
			? warning("tls", message, "Renew it; the service reads the new files within a minute.")
			: ok("tls", message);
	} catch (error) {
		return problem(
			"tls",
			(error as Error).message,
			"Correct SLUICE_TLS_CERT and SLUICE_TLS_KEY (tls.cert and tls.key in sluice.yaml).",
		);
	}
}
