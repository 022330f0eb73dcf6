/**
 * How fast the store takes a job through its life: insert, claim and report of 200-byte texts on a
 * real file, in groups and one at a time. With a third argument also how long a purge of so many
 * waiting jobs takes, and what others wait for while the rows are removed (D11). Prints JSON. `node
 * bench/store.ts [seconds] [folder] [purged]`
 */
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import type { Submission } from "../src/kernel/core/jobs/job.ts";
import { openSqlite } from "../src/kernel/store/sqlite/open.ts";
import type { Store } from "../src/kernel/store/contract/store.ts";

const seconds = Number(process.argv[2] ?? 5);
const parent = process.argv[3] ?? tmpdir();
const purged = Number(process.argv[4] ?? 0);
mkdirSync(parent, { recursive: true });
const folder = mkdtempSync(join(parent, "sluice-bench-"));

const TEXT = JSON.stringify({ prompt: "x".repeat(187) });
let made = 0;

function submission(): Submission {
	made += 1;
	const id = `0190a0b0-0000-7000-8000-${made.toString(16).padStart(12, "0")}`;
	return {
		id,
		endpoint: "bench",
		operation: "run",
		lowPriority: false,
		ttlMs: 86_400_000,
		executionTimeoutMs: 600_000,
		leaseMs: 20_000,
		retainMs: 1_800_000,
		recordMs: 604_800_000,
	};
}

/** `size` jobs at once: their inserts and claims in one turn, then their reports. */
async function lives(store: Store, size: number): Promise<void> {
	const now = Date.now();
	const inserts = Array.from({ length: size }, () =>
		store.jobs.insert({ submission: submission(), input: TEXT, now, queueBound: 100_000 }),
	);
	const claims = Array.from({ length: size }, () =>
		store.jobs.claim({
			endpoint: "bench",
			worker: "worker-0001",
			limit: 1,
			maxBytes: 20_000_000,
			now,
		}),
	);
	await Promise.all(inserts);
	const claimed = (await Promise.all(claims)).flatMap(({ jobs }) => jobs);
	await Promise.all(
		claimed.map(({ job }) =>
			store.jobs.report({
				endpoint: "bench",
				id: job.id,
				worker: "worker-0001",
				outcome: { on: "complete", output: TEXT },
				now,
			}),
		),
	);
	if (claimed.length !== size) throw new Error(`${claimed.length} of ${size} jobs were claimed.`);
}

/** Runs groups for some seconds, `lanes` of them at once. */
async function measure({ size, lanes, forSeconds }: { size: number; lanes: number; forSeconds: number }) {
	const store = await openSqlite({ path: join(folder, `${size}x${lanes}.db`) });
	const warm = performance.now() + 500;
	while (performance.now() < warm) await lives(store, size);
	const cpu = process.cpuUsage();
	const began = performance.now();
	const until = began + forSeconds * 1000;
	let done = 0;
	const lane = async (): Promise<void> => {
		while (performance.now() < until) {
			await lives(store, size);
			done += size;
		}
	};
	await Promise.all(Array.from({ length: lanes }, lane));
	const wallMs = performance.now() - began;
	const { user, system } = process.cpuUsage(cpu);
	await store.close();
	return {
		groupSize: size,
		groupsAtOnce: lanes,
		livesPerSecond: Math.round((done / wallMs) * 1000),
		cpuUsPerLife: Number(((user + system) / done).toFixed(1)),
		systemUsPerLife: Number((system / done).toFixed(1)),
	};
}

/** The purge of `jobs` waiting jobs, and an insert next to each step that removes their rows. */
async function measurePurge(jobs: number) {
	const store = await openSqlite({ path: join(folder, "purge.db") });
	const now = Date.now();
	const insert = () => store.jobs.insert({ submission: submission(), input: TEXT, now });
	for (let left = jobs; left > 0; left -= 10_000)
		await Promise.all(Array.from({ length: Math.min(left, 10_000) }, insert));
	const timed = async (run: () => Promise<unknown>): Promise<number> => {
		const began = performance.now();
		await run();
		return performance.now() - began;
	};
	const purgeMs = await timed(() => store.jobs.purge({ endpoint: "bench", now }));
	const claimMs = await timed(() => lives(store, 1));
	const waits: number[] = [];
	const removeMs = await timed(async () => {
		for (let more = true; more; ) {
			const settled = store.jobs.settle({ now, limit: 500 });
			waits.push(await timed(insert));
			more = (await settled).nextDueAt === now;
		}
	});
	await store.close();
	waits.sort((a, b) => a - b);
	const ms = (time: number): number => Number(time.toFixed(1));
	return {
		jobs,
		purgeMs: ms(purgeMs),
		firstLifeAfterMs: ms(claimMs),
		removeMs: ms(removeMs),
		insertBesideMs: {
			p50: ms(waits[Math.floor(waits.length / 2)] ?? 0),
			max: ms(waits.at(-1) ?? 0),
		},
	};
}

/** Time of a flush after 64 kB, in microseconds. */
function flushes(): { p50Us: number; p99Us: number } {
	const file = openSync(join(folder, "flush"), "w");
	const block = Buffer.alloc(65_536, 1);
	const times: number[] = [];
	for (let i = 0; i < 500; i += 1) {
		writeSync(file, block);
		const began = performance.now();
		fdatasyncSync(file);
		times.push((performance.now() - began) * 1000);
	}
	closeSync(file);
	times.sort((a, b) => a - b);
	return { p50Us: Math.round(times[249] ?? 0), p99Us: Math.round(times[494] ?? 0) };
}

function commit(): string {
	try {
		return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		}).trim();
	} catch {
		return "none";
	}
}

try {
	const runs = [];
	for (const [size, lanes] of [
		[64, 1],
		[64, 2],
		[64, 4],
		[1, 1],
	] as const)
		runs.push(await measure({ size, lanes, forSeconds: seconds }));
	const purge = purged > 0 ? await measurePurge(purged) : undefined;
	const [cpu] = cpus();
	const machine = {
		cpu: cpu?.model,
		cores: cpus().length,
		memoryGb: Math.round(totalmem() / 2 ** 30),
		node: process.version,
		platform: process.platform,
	};
	console.log(
		JSON.stringify(
			{
				bench: "store",
				dialect: "sqlite",
				commit: commit(),
				machine,
				textBytes: TEXT.length,
				fdatasync: flushes(),
				runs,
				purge,
			},
			undefined,
			2,
		),
	);
} finally {
	rmSync(folder, { recursive: true, force: true });
}
