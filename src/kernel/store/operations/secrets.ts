import type { SharedOperation } from "./operation.ts";

export const replaceJob: SharedOperation<"secrets.replaceJob"> = {
	kind: "write",
	reads: ({ endpoint, id }) => ({ jobs: [{ endpoint, id }] }),
	apply(unit, { endpoint, id, from, to }) {
		const row = unit.records.find({ endpoint, id });
		if (row?.job.s3Config !== from) return false;
		unit.records.update(row, { job: { ...row.job, s3Config: to } });
		return true;
	},
};
