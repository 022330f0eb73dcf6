/**
 * No-op jobs through `/runsync`, worker in its own process, store durable, next to a bare echo in
 * the same run. Figures are ratios: the machines are noisy. `node bench/runsync.ts [seconds]
 * [runs]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushTimes, machine, median } from "./machine.ts";
import { KEY, end, startEcho, startService, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";
import type { Load, Shot } from "./wrk.ts";

const seconds = Number(process.argv[2] ?? 5);
const runs = Number(process.argv[3] ?? 5);
/** Until the compiler has made what is busy fast, s: a service runs for days. */
const WARM_UP = 6;
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };

const flush = flushTimes(folder);
const echo = await startEcho();
const service = await startService(folder);
const worker = await startWorker(service.url);
try {
	const shots: Record<"echo" | "runsync", Shot> = {
		echo: { url: echo.url, body, headers },
		runsync: { url: `${service.url}/v2/noop/runsync`, body, headers },
	};
	await shoot(shots.runsync, { connections: 64, seconds: WARM_UP });
	const loads: Record<"echo" | "runsync", Load[]> = { echo: [], runsync: [] };
	for (let run = 0; run < runs; run += 1) {
		loads.echo.push(await shoot(shots.echo, { connections: 64, seconds }));
		loads.runsync.push(await shoot(shots.runsync, { connections: 64, seconds }));
	}
	const single = await shoot(shots.runsync, { connections: 1, seconds });
	const ratios = loads.runsync.map((load, run) =>
		Number((load.perSecond / loads.echo[run]!.perSecond).toFixed(3)),
	);
	const result = {
		bench: "runsync",
		...machine(),
		flushMs: flush,
		ratio: median(ratios),
		ratios,
		echoPerSecond: median(loads.echo.map((load) => load.perSecond)),
		jobsPerSecond: median(loads.runsync.map((load) => load.perSecond)),
		at64: {
			p50Ms: median(loads.runsync.map((load) => load.p50)),
			p99Ms: median(loads.runsync.map((load) => load.p99)),
		},
		at1: { p50Ms: single.p50, p99Ms: single.p99, perSecond: single.perSecond },
		refused: loads.runsync.reduce((sum, load) => sum + load.refused, single.refused),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(worker);
	await end(service.child);
	await end(echo.child);
	rmSync(folder, { recursive: true, force: true });
}
