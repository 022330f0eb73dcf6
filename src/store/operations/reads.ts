/** What is known of one job. */
import type { SharedRead } from "./operation.ts";

export const get: SharedRead<"jobs.get"> = {
	kind: "read",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }], payloads: "output" }),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row && unit.views.result(row, q.now);
	},
};

export const record: SharedRead<"jobs.record"> = {
	kind: "read",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }], payloads: "all" }),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row && unit.views.record(row, q.now);
	},
};

export const attempts: SharedRead<"jobs.attempts"> = {
	kind: "read",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }] }),
	apply(unit, q) {
		const row = unit.records.find(q);
		return row ? unit.attempts.list(row) : [];
	},
};
