/** Rules of a claim for the waiting jobs that a dialect finds, in queue order. */
import type { JobRow } from "../row.ts";
import type { Query } from "./operation.ts";
import type { UnitOfWork } from "./unit-of-work.ts";

/** A claim while it is filled. */
export interface PendingClaim<Row extends JobRow, Input> {
	q: Query<"jobs.claim">;
	jobs: { row: Row; input: Input }[];
	/** A job was skipped: the worker may still run an old attempt of it (D16 Fence). */
	fenced: boolean;
	/** Characters of input that still fit. */
	room: number;
	full: boolean;
}

export function pendingClaim<Row extends JobRow, Input>(q: Query<"jobs.claim">): PendingClaim<Row, Input> {
	return { q, jobs: [], fenced: false, room: q.maxBytes, full: q.limit <= 0 };
}

/** The inputs of waiting jobs. */
interface ClaimInputs<Row extends JobRow, Input> {
	/** The input of a job; undefined when it has more than `most` characters. */
	take(row: Row, most: number): Input | undefined;
	size(input: Input): number;
}

/** What a dialect provides for a claim. */
export interface ClaimParts<Row extends JobRow, Input> {
	transitions: Pick<UnitOfWork<Row>["transitions"], "apply">;
	/** Whether the worker may still run an old attempt of the job. */
	isFenced(row: Row, worker: string): boolean;
	inputs: ClaimInputs<Row, Input>;
}

/**
 * Offers a waiting job to a claim. `refused`: no worker can get the job. The first job of a claim
 * fits at any size.
 */
export function offer<Row extends JobRow, Input>(
	{ transitions, isFenced, inputs }: ClaimParts<Row, Input>,
	claim: PendingClaim<Row, Input>,
	row: Row,
): "taken" | "fenced" | "full" | "refused" {
	const { worker, now, limit } = claim.q;
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
	const applied = transitions.apply(row, "claim", { now, worker });
	if (!applied?.row) return "refused";
	claim.jobs.push({ row: applied.row, input });
	claim.full = claim.jobs.length >= limit;
	return "taken";
}
