/** Jobs by version for `/metrics` (D40, D50). */
import type { Family, FamilyDescription, Sample } from "../../kernel/core/metrics/family.ts";
import type { ReleaseJobs } from "../../kernel/core/metrics/metric-buckets.ts";
import type { Metrics } from "../../kernel/engine/metrics/metrics.ts";

/** Versions of each endpoint, the newest with jobs, which bounds the number of labels. */
const SHOWN_RELEASES = 2;

const ENDED: FamilyDescription = {
	name: "sluice_release_jobs_ended_total",
	type: "counter",
	labels: ["endpoint", "release", "outcome"],
	help: "Jobs that ended on launched workers, by version; failed: also timed out. The two newest with jobs.",
};

const EXECUTION: FamilyDescription = {
	name: "sluice_release_execution_seconds",
	type: "histogram",
	labels: ["endpoint", "release"],
	help: "Runs whose end a launched worker reported to this server, by version.",
};

export const FAMILIES = [ENDED, EXECUTION];

export function familiesOf({ history }: Pick<Metrics, "history">): Family[] {
	const all = [...history.totals()].flatMap(([endpoint, bucket]) =>
		[...bucket.releases]
			.toSorted(([one], [other]) => other - one)
			.slice(0, SHOWN_RELEASES)
			.map(([version, jobs]) => ({ labels: [endpoint, String(version)], jobs })),
	);
	const outcomes = ({ completed, failed }: ReleaseJobs) => Object.entries({ completed, failed });
	return [
		{
			...ENDED,
			samples: all.flatMap(({ labels, jobs }) =>
				outcomes(jobs).map(([outcome, count]): Sample => [[...labels, outcome], count]),
			),
		},
		{ ...EXECUTION, samples: all.map(({ labels, jobs }): Sample => [labels, jobs.execution]) },
	];
}
