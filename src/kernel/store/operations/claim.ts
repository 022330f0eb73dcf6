import type { JobRow } from "../row.ts";
import type { Query } from "./operation.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

export interface PendingClaim<Row extends JobRow, Input> {
	q: Query<"jobs.claim">;
	jobs: { row: Row; input: Input }[];
	/** Whether a fenced job was skipped (D16 Fence). */
	fenced: boolean;
	room: number;
	full: boolean;
}

export function pendingClaim<Row extends JobRow, Input>(q: Query<"jobs.claim">): PendingClaim<Row, Input> {
	return { q, jobs: [], fenced: false, room: q.maxBytes, full: q.limit <= 0 };
}

interface ClaimInputs<Row extends JobRow, Input> {
	/** Returns the input of a job; undefined if it has more than `most` characters. */
	take(row: Row, most: number): Input | undefined;
	size(input: Input): number;
}

export interface ClaimParts<Row extends JobRow, Input> {
	transitions: Pick<UnitOfWork<Row>["transitions"], "apply">;
	isFenced(row: Row, worker: string): boolean;
	inputs: ClaimInputs<Row, Input>;
}

/** Offers a waiting job to a claim. `refused`: no worker may get the job. The first job of a claim fits at any size. */
export function offer<Row extends JobRow, Input>(
	{ transitions, isFenced, inputs }: ClaimParts<Row, Input>,
	claim: PendingClaim<Row, Input>,
	row: Row,
): "taken" | "fenced" | "full" | "refused" {
	const { worker, release, now, limit } = claim.q;
	if (isFenced(row, worker)) {
		claim.fenced = true;
		return "fenced";
	}
	const input = inputs.take(row, claim.jobs.length > 0 ? claim.room : Infinity);
	if (input === undefined) {
		claim.full = true;
		return "full";
	}
	claim.room -= inputs.size(input);
	const applied = transitions.apply(row, "claim", { now, worker, release });
	if (!applied?.row) return "refused";
	claim.jobs.push({ row: applied.row, input });
	claim.full = claim.jobs.length >= limit;
	return "taken";
}
