/** Batches in `/metrics` (D40, D57). */
import type { Family, FamilyDescription } from "../../kernel/core/metrics/family.ts";
import type { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { Runner } from "./runner.ts";

const OPEN: FamilyDescription = {
	name: "sluice_batches_open",
	type: "gauge",
	labels: ["endpoint"],
	help: "Batches that have not ended, on all servers; no series without any.",
};

const REQUESTS: FamilyDescription = {
	name: "sluice_batch_requests_total",
	type: "counter",
	labels: ["endpoint", "result"],
	help: "Requests of batches that have ended, `completed` with an answer and `failed` without; no series without any.",
};

export const FAMILIES = [OPEN, REQUESTS];

export function batchFamilies(runner: Pick<Runner, "open">, requests: ReturnType<typeof counts>): Family[] {
	return [
		{ ...OPEN, samples: [...runner.open()].map(([endpoint, count]) => [[endpoint], count]) },
		{ ...REQUESTS, samples: requests.samples() },
	];
}
