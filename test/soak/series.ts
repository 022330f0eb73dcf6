/** The series of a soak: what of the samples is drawn and judged, and how much it may grow. */
import type { Percentiles } from "./latency.ts";
import { type Bound, flatness, type Flatness, type Point } from "./flatness.ts";
import type { ProcessSample, StoreSample } from "./sample.ts";

/** One line of `samples.jsonl`. */
export interface Sample {
	/** Seconds since the beginning. */
	at: number;
	/** Jobs that a client got an id for, since the last sample, per second. */
	jobs: number;
	/** `/run` until its answer. */
	submit?: Percentiles;
	/** `/runsync` of a job that is done at once, until its result. */
	whole?: Percentiles;
	/** Faults so far; those that ended a server. */
	faults: number;
	kills: number;
	/** By server; null while it starts. */
	servers: (ProcessSample | null)[];
	store?: StoreSample;
	/** Of the process with clients and workers. */
	clients: ProcessSample;
}

export interface Series {
	/** Series with the same panel are drawn together. */
	panel: string;
	name: string;
	unit: string;
	points: Point[];
	/** Missing: drawn, not judged. */
	bound?: Bound;
}

export interface Judged extends Omit<Series, "points">, Flatness {}

const MB = 2 ** 20;

const MEMORY: Bound = { percent: 10, least: 10 };
const DESCRIPTORS: Bound = { percent: 5, least: 3 };
/** Tables of idempotency keys, kept for 24 hours, and of deliveries, kept for 7 days. */
const LONG_KEPT = ["idempotency", "deliveries", "delivery_bodies"];
const DATA: Bound = { percent: 10, least: 5 };
const FILES: Bound = { percent: 10, least: 8 };
const LATENCY: Bound = { percent: 25, least: 3 };

export function seriesOf(samples: readonly Sample[]): Series[] {
	const series: Series[] = [];
	const add = (
		head: Omit<Series, "points">,
		of: (sample: Sample) => number | undefined,
		life?: (sample: Sample) => number | undefined,
	): void => {
		const points = samples.flatMap((sample) => {
			const [value, own] = [of(sample), life?.(sample)];
			if (value === undefined) return [];
			return [{ at: sample.at, value, ...(own === undefined ? {} : { life: own }) }];
		});
		if (points.length > 0) series.push({ ...head, points });
	};
	const mb = (bytes: number | undefined): number | undefined => (bytes === undefined ? undefined : bytes / MB);

	const count = samples[0]?.servers.length ?? 0;
	for (let n = 0; n < count; n += 1) {
		const name = count === 1 ? "server" : `server ${n + 1}`;
		const pid = ({ servers }: Sample) => servers[n]?.pid;
		const memory = { panel: "Resident memory", name, unit: "MB", bound: MEMORY };
		add(memory, ({ servers }) => mb(servers[n]?.memory), pid);
		const descriptors = { panel: "Open file descriptors", name, unit: "", bound: DESCRIPTORS };
		add(descriptors, ({ servers }) => servers[n]?.descriptors, pid);
	}
	for (const [panel, member] of [
		["Submission (/run)", "submit"],
		["Whole job (/runsync)", "whole"],
	] as const)
		for (const name of ["p50", "p99"] as const)
			add({ panel, name, unit: "ms", bound: LATENCY }, (sample) => sample[member]?.[name]);
	const size = { name: "size", unit: "MB" };
	const kept = ({ store }: Sample): number => sum(LONG_KEPT.map((table) => store?.tables?.[table]));
	add({ ...size, panel: "Tables without keys and deliveries", bound: DATA }, (sample) =>
		mb(sample.store?.data === undefined ? undefined : sample.store.data - kept(sample)),
	);
	add({ ...size, panel: "Keys (24 hours) and deliveries (7 days)" }, (sample) =>
		mb(sample.store?.tables && kept(sample)),
	);
	add({ ...size, panel: "Database file" }, ({ store }) => mb(store?.file));
	add({ ...size, panel: "Log", bound: FILES }, ({ store }) => mb(store?.wal));
	add({ ...size, panel: "Payload files", bound: { percent: 10, least: 64 } }, ({ store }) => mb(store?.payloads));
	add(
		{ panel: "Dead rows", name: "rows", unit: "", bound: { percent: 10, least: 5000 } },
		(sample) => sample.store?.dead,
	);
	add({ panel: "Memory of PostgreSQL", name: "all processes", unit: "MB", bound: MEMORY }, (sample) =>
		mb(sample.store?.memory),
	);
	add({ panel: "Jobs submitted", name: "jobs", unit: "/s" }, ({ jobs }) => jobs);
	return series;
}

export function judge(samples: readonly Sample[]): Judged[] {
	return seriesOf(samples).flatMap(({ points, ...head }) =>
		head.bound ? [{ ...head, ...flatness(points, head.bound) }] : [],
	);
}

/** The verdicts as a table for a terminal. */
export function verdictTable(judged: readonly Judged[]): string {
	const rows = judged.map((each) => [
		`${each.panel}, ${each.name}`,
		each.first === undefined ? "" : `${short(each.first)} to ${short(each.last!)} ${each.unit}`,
		each.percentPerHour === undefined
			? ""
			: `${short(each.percentPerHour)} %/h (${short(each.low!)} to ${short(each.high!)})`,
		`over ${short(each.minutes ?? 0)} min`,
		each.verdict,
	]);
	const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
	return rows
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column]!))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

function sum(values: readonly (number | undefined)[]): number {
	return values.reduce<number>((total, value = 0) => total + value, 0);
}

/** To three digits. */
export function short(value: number): string {
	return String(Number(value.toPrecision(3)));
}
