/** Reports in worker bodies. */
import { notJson, readReport, type Report } from "../../core/report.ts";
import type { ScannedBody } from "../body.ts";

/** The report in a body scanned for `REPORT_MEMBERS`. */
export function reportOf({ scan, text, payload, size }: ScannedBody): Report {
	if (!scan.ok) return notJson(scan.fault.message, size);
	const { output, error, status, stopPod } = scan.members;
	return readReport({
		...(output ? { output: payload(output)! } : {}),
		...(error ? { error: text(error)! } : {}),
		...(status ? { status: text(status)! } : {}),
		...(stopPod ? { stopPod: text(stopPod)! } : {}),
	});
}
