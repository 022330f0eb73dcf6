/** The benchmarks of `npm run bench` and the figures taken from what each prints. */
import type { Spread } from "./machine.ts";

/** A figure of one run of the suite: its median and spread. */
export interface Figure {
	name: string;
	unit: "ratio" | "ms" | "MB" | "per s" | "times" | "% of a core";
	median: number;
	low: number;
	high: number;
	/** Which direction is an improvement. */
	better: "more" | "less";
	/** Targets are in bench/results/NOTES.md. */
	target?: number;
}

export interface Benchmark {
	/** File in this folder, without `.ts`. */
	name: string;
	args: readonly (string | number)[];
	/** Arguments for the short run of CI; without them it is left out there. */
	slice?: readonly (string | number)[];
	/** Besides Node. */
	needs?: "wrk";
	/** `printed`: its JSON. */
	figures(printed: any): Figure[];
}

type Kind = Omit<Figure, "median" | "low" | "high">;

const spread = (kind: Kind, { median, least, most }: Spread): Figure => ({
	...kind,
	median,
	low: least,
	high: most,
});

/** A figure that a benchmark takes once. */
const single = (kind: Kind, value: number): Figure => ({
	...kind,
	median: value,
	low: value,
	high: value,
});

const several = (kind: Kind, median: number, values: readonly number[]): Figure => ({
	...kind,
	median,
	low: Math.min(...values),
	high: Math.max(...values),
});

const megabytes = (bytes: number): string => (bytes < 1e6 ? `${bytes / 1000} kB` : `${bytes / 1e6} MB`);

export const BENCHMARKS: readonly Benchmark[] = [
	{
		name: "runsync",
		args: [4, 5],
		slice: [2, 2],
		needs: "wrk",
		figures: (r) => [
			several(
				{
					name: "/runsync, 64 in flight, to a bare echo",
					unit: "ratio",
					better: "more",
					target: 0.3,
				},
				r.ratio,
				r.ratios,
			),
			single({ name: "/runsync, 64 in flight, p50", unit: "ms", better: "less" }, r.at64.p50Ms),
			single({ name: "/runsync, 64 in flight, p99", unit: "ms", better: "less" }, r.at64.p99Ms),
			single({ name: "/runsync, 1 in flight, p50", unit: "ms", better: "less", target: 0.8 }, r.at1.p50Ms),
			single({ name: "/runsync, 1 in flight, p99", unit: "ms", better: "less", target: 2.5 }, r.at1.p99Ms),
		],
	},
	{
		name: "submit",
		args: [4, 5],
		needs: "wrk",
		figures: (r) => [
			several(
				{ name: "/run, 64 in flight, to a bare echo", unit: "ratio", better: "more", target: 0.5 },
				r.ratio,
				r.ratios,
			),
		],
	},
	{
		name: "stream",
		args: [32, 300, 5],
		slice: [8, 60, 2],
		figures: (r) =>
			Object.entries<any>(r)
				.filter(([, value]) => value?.ratio || value?.p99)
				.flatMap(([name, value]) => [
					...(value.ratio
						? [spread({ name: `/openai stream, ${name}, to a relay`, unit: "ratio", better: "more" }, value.ratio)]
						: []),
					spread({ name: `/openai stream, ${name}, p99`, unit: "ms", better: "less" }, value.p99),
				]),
	},
	{
		name: "payload-rate",
		args: [8, 4, 5],
		needs: "wrk",
		figures: (r) =>
			r.sizes.flatMap((each: any) => [
				spread(
					{
						name: `${megabytes(each.bytes)} in and out, to a relay that flushes both`,
						unit: "ratio",
						better: "more",
					},
					each.ratioToDurableRelay,
				),
				spread({ name: `${megabytes(each.bytes)} in and out, p99`, unit: "ms", better: "less" }, each.p99),
			]),
	},
	{
		name: "payload",
		args: [20, 3],
		figures: (r) => [
			single(
				{
					name: "20 MB in and out, longest block of the event loop",
					unit: "ms",
					better: "less",
					target: 50,
				},
				Math.max(r.ascii.blockedMs.longest, r.unicode.blockedMs.longest),
			),
		],
	},
	{
		name: "memory",
		args: [100_000],
		figures: (r) => [
			single({ name: "100,000 queued jobs, memory", unit: "MB", better: "less", target: 100 }, r.growthMb),
		],
	},
	{
		name: "waiters",
		args: [10_000],
		figures: (r) => [
			single({ name: "10,000 callers that wait, memory", unit: "MB", better: "less", target: 350 }, r.growthMb),
		],
	},
	{
		name: "idle-workers",
		args: [1000, 20],
		figures: (r) => [
			single({ name: "1,000 idle workers, processor", unit: "% of a core", better: "less", target: 5 }, r.cpuPercent),
		],
	},
	{
		name: "expiry",
		args: [20_000, 4, 3],
		needs: "wrk",
		figures: (r) => [
			spread(
				{
					name: "/runsync while results expire, to before",
					unit: "ratio",
					better: "more",
					target: 0.95,
				},
				r.ratio,
			),
		],
	},
	{
		name: "million",
		args: ["--jobs", 200_000],
		needs: "wrk",
		figures: (r) => [
			single({ name: "200,000 waiting jobs, a take, p99", unit: "ms", better: "less" }, r.takeMs.p99),
			single({ name: "200,000 purged jobs, smallest file", unit: "MB", better: "less" }, r.purge.smallestMb),
		],
	},
	{
		name: "cold-start",
		args: [10],
		figures: (r) => [
			single({ name: "start of a worker, beyond its own", unit: "ms", better: "less", target: 30 }, r.addedMs),
		],
	},
	{
		name: "many-endpoints",
		args: [200, 20],
		figures: (r) => [
			single({ name: "200 idle endpoints, processor", unit: "% of a core", better: "less", target: 2 }, r.cpuPercent),
			single({ name: "200 idle endpoints, memory", unit: "MB", better: "less", target: 150 }, r.residentMb),
		],
	},
];
