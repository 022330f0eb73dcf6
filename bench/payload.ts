/**
 * A payload of the largest size through `/runsync`, in and out: what it costs the service in
 * memory, and for how long its event loop is blocked. `node bench/payload.ts [megabytes] [rounds]`,
 * after `npm run build`.
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machine, median } from "./machine.ts";
import { forgetPeak, peakMb, residentMb } from "./memory-of.ts";
import { KEY, end, startService, startWorker } from "./processes.ts";

const megabytes = Number(process.argv[2] ?? 20);
const rounds = Number(process.argv[3] ?? 5);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));

/**
 * Texts of exactly so many bytes with the framing, one of letters alone and one that is not ASCII.
 */
const BYTES = Math.floor(megabytes * 1_048_576) - 64;
const TEXTS = {
	ascii: "x".repeat(BYTES),
	unicode: "é€😀 ".repeat(Math.floor(BYTES / 10)),
	objects: undefined as string | undefined,
};

function bodyOf(kind: keyof typeof TEXTS): string {
	if (kind !== "objects") return JSON.stringify({ input: { text: TEXTS[kind] } });
	const item = '{"id":12345,"name":"a name","scores":[1.5,2.25,-3e10],"ok":true,"none":null},';
	return `{"input":{"text":[${item.repeat(Math.floor((BYTES - 100) / item.length)).slice(0, -1)}]}}`;
}

/**
 * All rounds of one kind against a service of their own: memory that an earlier kind left behind
 * would pass for idle.
 */
async function measure(kind: keyof typeof TEXTS): Promise<Record<string, unknown>> {
	const place = join(folder, kind);
	mkdirSync(place);
	const service = await startService(place, { probe: true });
	const worker = await startWorker(service.url, "echo-worker.ts");
	const pid = service.child.pid!;

	async function blockedMs(): Promise<number> {
		service.child.send("read");
		const [{ longestMs }] = (await once(service.child, "message")) as [{ longestMs: number }];
		return longestMs;
	}

	try {
		const body = Buffer.from(bodyOf(kind));
		const idle = residentMb(pid);
		const peaks: number[] = [];
		const gaps: number[] = [];
		const times: number[] = [];
		for (let round = 0; round < rounds; round += 1) {
			forgetPeak(pid);
			await blockedMs();
			const began = performance.now();
			const answer = await fetch(`${service.url}/v2/noop/runsync`, {
				method: "POST",
				headers: { authorization: `Bearer ${KEY}` },
				body,
			});
			const { length } = Buffer.from(await answer.arrayBuffer());
			times.push(Math.round(performance.now() - began));
			if (answer.status !== 200 || length < body.length)
				throw new Error(`answered ${answer.status} with ${length} bytes`);
			gaps.push(await blockedMs());
			peaks.push(peakMb(pid));
		}
		const sizeMb = body.length / 1_048_576;
		const growth = (peak: number): number => Math.round(((peak - idle) / sizeMb) * 100) / 100;
		return {
			payloadMb: Math.round(sizeMb * 10) / 10,
			idleMb: idle,
			peakMb: Math.max(...peaks),
			growthInPayloads: { first: growth(peaks[0]!), most: growth(Math.max(...peaks)) },
			blockedMs: { least: Math.min(...gaps), median: median(gaps), longest: Math.max(...gaps) },
			roundTripMs: median(times),
		};
	} finally {
		await end(worker);
		await end(service.child);
	}
}

try {
	const results: Record<string, unknown> = {};
	for (const kind of Object.keys(TEXTS) as (keyof typeof TEXTS)[]) results[kind] = await measure(kind);
	process.stdout.write(`${JSON.stringify({ bench: "payload", ...machine(), rounds, ...results }, null, 2)}\n`);
} finally {
	rmSync(folder, { recursive: true, force: true });
}
