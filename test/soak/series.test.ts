/** Growth that is planted in one measure of the samples is found there, and nowhere else. */
import { expect, it } from "vitest";
import { random } from "../torture/plan.ts";
import { judge, type Sample, verdictTable } from "./series.ts";

const MB = 2 ** 20;

/** Two hours of a service that is idle but for noise. */
function samples(store: "sqlite" | "postgres", plant: (sample: Sample, part: number) => void) {
	const next = random(2);
	const noisy = (value: number): number => value * (0.98 + next() * 0.04);
	return Array.from({ length: 1440 }, (_, n): Sample => {
		const server = (pid: number) => ({ pid, memory: noisy(200 * MB), descriptors: 80, cpu: n });
		const times = () => ({ p50: noisy(8), p99: noisy(50) });
		const sample: Sample = {
			at: n * 5,
			jobs: noisy(40),
			...(n % 6 === 5 ? { submit: times(), whole: times() } : {}),
			faults: 0,
			kills: 0,
			servers: [server(1), server(2)],
			store: {
				data: noisy(50 * MB) + n * 100_000,
				tables: { idempotency: n * 100_000 },
				wal: 16 * MB,
				...(store === "sqlite"
					? { file: 60 * MB + n * 100_000, payloads: noisy(200 * MB), payloadFiles: 4 }
					: { dead: noisy(3000), memory: noisy(100 * MB) }),
			},
			clients: server(3),
		};
		plant(sample, n / 1440);
		return sample;
	});
}

const growing = (found: ReturnType<typeof judge>): string[] =>
	found.filter(({ verdict }) => verdict === "grows").map(({ panel, name }) => `${panel}, ${name}`);

it.each(["sqlite", "postgres"] as const)("finds no growth where none is planted: %s", (store) => {
	const found = judge(samples(store, () => {}));
	expect(growing(found)).toEqual([]);
	expect(found.every(({ verdict }) => verdict === "flat")).toBe(true);
	expect(verdictTable(found)).toContain("Resident memory, server 2");
});

it.each<[string, "sqlite" | "postgres", (sample: Sample, part: number) => void]>([
	["Resident memory, server 2", "sqlite", (s, part) => (s.servers[1]!.memory *= 1 + part)],
	["Open file descriptors, server 1", "sqlite", (s, part) => (s.servers[0]!.descriptors += Math.round(40 * part))],
	["Submission (/run), p50", "sqlite", (s, part) => s.submit && (s.submit.p50! *= 1 + 3 * part)],
	["Whole job (/runsync), p99", "postgres", (s, part) => s.whole && (s.whole.p99! *= 1 + 2 * part)],
	["Tables without keys and deliveries, size", "sqlite", (s, part) => (s.store!.data! += 80 * MB * part)],
	["Log, size", "sqlite", (s, part) => (s.store!.wal += 60 * MB * part)],
	["Payload files, size", "sqlite", (s, part) => (s.store!.payloads! += 400 * MB * part)],
	["Tables without keys and deliveries, size", "postgres", (s, part) => (s.store!.data! += 80 * MB * part)],
	["Log, size", "postgres", (s, part) => (s.store!.wal += 60 * MB * part)],
	["Dead rows, rows", "postgres", (s, part) => (s.store!.dead! += 30_000 * part)],
	["Memory of PostgreSQL, all processes", "postgres", (s, part) => (s.store!.memory! += 100 * MB * part)],
])("finds what grows: %s, %s", (series, store, plant) => {
	expect(growing(judge(samples(store, plant)))).toEqual([series]);
});

it("compares no process with the one before it, and leaves out what was not measured", () => {
	const found = judge(
		samples("sqlite", (sample, part) => {
			const life = Math.floor(part * 6);
			Object.assign(sample.servers[0]!, { pid: life, memory: (200 + 100 * life) * MB });
			if (part > 0.9) delete sample.store;
			if (part > 0.7 && part < 0.71) sample.servers[1] = null;
		}),
	);
	expect(growing(found)).toEqual([]);
});
