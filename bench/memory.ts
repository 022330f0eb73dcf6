/**
 * What 100,000 queued jobs of 200 bytes cost the service in resident memory beyond its idle size.
 * `node bench/memory.ts [jobs]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machine } from "./machine.ts";
import { residentMb } from "./memory-of.ts";
import { KEY, end, startService } from "./processes.ts";

const jobs = Number(process.argv[2] ?? 100_000);
const AT_ONCE = 64;
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });

const service = await startService(folder);
try {
	const idle = residentMb(service.child.pid!);
	let left = jobs;
	let peak = idle;
	const submit = async (): Promise<void> => {
		while (left-- > 0) {
			const answer = await fetch(`${service.url}/v2/noop/run`, {
				method: "POST",
				headers: { authorization: `Bearer ${KEY}` },
				body,
			});
			if (answer.status !== 200) throw new Error(`a submission was answered ${answer.status}`);
			await answer.arrayBuffer();
			if (left % 5000 === 0) peak = Math.max(peak, residentMb(service.child.pid!));
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, submit));
	const health = (await (
		await fetch(`${service.url}/v2/noop/health`, { headers: { authorization: `Bearer ${KEY}` } })
	).json()) as { jobs: { inQueue: number } };
	const queued = residentMb(service.child.pid!);
	process.stdout.write(
		`${JSON.stringify({ bench: "memory", ...machine(), queued: health.jobs.inQueue, idleMb: idle, queuedMb: queued, peakMb: Math.max(peak, queued), growthMb: Math.round((Math.max(peak, queued) - idle) * 10) / 10 }, null, 2)}\n`,
	);
} finally {
	await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
