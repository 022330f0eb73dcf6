/**
 * What 1,000 workers of one endpoint cost the service while they wait for a job: each holds its two
 * polls open and pings. `node bench/idle-workers.ts [workers] [seconds]`, after `npm run build`; two
 * minutes. Linux only.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startIdleWorker } from "./idle-worker.ts";
import { machine } from "./machine.ts";
import { processorShare, residentMb } from "./memory-of.ts";
import { KEY, end, startService, workerEnv } from "./processes.ts";

const workers = Number(process.argv[2] ?? 1000);
/** One whole hold of the polls by default: then each of them is begun again once. */
const seconds = Number(process.argv[3] ?? 50);
/** Until what runs for an idle worker has been compiled, and the starts are over. */
const SETTLING_MS = 45_000;
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
let over = false;

const service = await startService(folder);
try {
	const pid = service.child.pid!;
	const idleMb = residentMb(pid);
	for (let n = 0; n < workers; n += 1) {
		startIdleWorker(await workerEnv(service.url), () => over);
		// Else the first polls arrive in one burst, and so do all later ones.
		await new Promise((resolve) => setTimeout(resolve, SETTLING_MS / 2 / workers));
	}
	const listed = await fetch(`${service.url}/v2/noop/health`, {
		headers: { authorization: `Bearer ${KEY}` },
	});
	const { workers: states } = (await listed.json()) as { workers: Record<string, number> };
	if (states["ready"] !== workers) throw new Error(`Only ${states["ready"]} workers are ready.`);
	await new Promise((resolve) => setTimeout(resolve, SETTLING_MS / 2));
	const cpuPercent = await processorShare(pid, seconds);
	const result = {
		bench: "idle-workers",
		...machine(),
		workers,
		seconds,
		cpuPercent,
		idleMb,
		residentMb: residentMb(pid),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	over = true;
	await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
