/** The rule `file-totals`: an endpoint counts its files, those of objects too, and their bytes (D56, D59). */
import type { FileTotalsOp } from "../history.ts";
import type { Violation } from "./job-history.ts";

export const isRight = ({ counted, listed }: FileTotalsOp): boolean =>
	counted.files === listed.files && counted.bytes === listed.bytes;

export function fileTotals(op: FileTotalsOp, report: (violation: Violation) => void): void {
	if (isRight(op)) return;
	const { endpoint, counted, listed } = op;
	const what =
		`${endpoint} has ${listed.files} files and counts ${counted.files}, ` +
		`${listed.bytes} bytes and counts ${counted.bytes}`;
	report({ rule: "file-totals", what, lines: [op] });
}
