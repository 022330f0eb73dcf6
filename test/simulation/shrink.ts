/** Makes a schedule that fails smaller: fewer faults, jobs and participants, shorter faults. */
import type { Schedule } from "./schedule.ts";

/** The smallest schedule found that still fails; it is tried at most `tries` times. */
export function shrink(schedule: Schedule, fails: (schedule: Schedule) => boolean, tries = 400): Schedule {
	let best = schedule;
	let left = tries;

	function tryOne(change: Partial<Schedule>): boolean {
		if (left <= 0) return false;
		left -= 1;
		const smaller = { ...best, ...change };
		if (!fails(smaller)) return false;
		best = smaller;
		return true;
	}

	/** Leaves out parts, first large ones. */
	function fewer<T>(list: () => readonly T[], change: (kept: T[]) => Partial<Schedule>): void {
		for (let size = list().length; size >= 1; size = size >> 1)
			for (let at = 0; at < list().length; ) if (!tryOne(change(list().toSpliced(at, size)))) at += size;
	}

	for (let before = -1; before !== sizeOf(best); ) {
		before = sizeOf(best);
		fewer(
			() => best.participants,
			(participants) => ({
				participants,
				jobs: best.jobs.filter((job) => participants.some((p) => p.endpoint === job.endpoint)),
				releases: best.releases.filter((release) => participants.some((p) => p.endpoint === release.endpoint)),
			}),
		);
		fewer(
			() => best.faults,
			(faults) => ({ faults }),
		);
		fewer(
			() => best.jobs,
			(jobs) => ({ jobs }),
		);
		// All or none: what follows a broken version repairs it.
		if (best.releases.length > 0) tryOne({ releases: [] });
		for (const [index, each] of best.participants.entries())
			for (const change of [{ clients: 1 }, { workers: Math.min(1, each.workers) }, { crashes: 0 }])
				if (Object.entries(change).some(([name, value]) => each[name as "clients"] !== value))
					tryOne({
						participants: best.participants.with(index, {
							...best.participants[index]!,
							...change,
						}),
					});
		for (const [index, each] of best.faults.entries())
			if (each.ms > 1) tryOne({ faults: best.faults.with(index, { ...each, ms: each.ms / 2 }) });
	}
	return best;
}

function sizeOf({ jobs, faults, participants, releases }: Schedule): number {
	return (
		jobs.length +
		releases.length +
		faults.reduce((sum, { ms }) => sum + 1 + Math.log2(1 + ms), 0) +
		participants.reduce((sum, { clients, workers }) => sum + 1 + clients + workers, 0)
	);
}
