/**
 * `/run` alone, store durable, no worker, next to a bare echo in the same run. `node
 * bench/submit.ts [seconds] [runs]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushTimes, machine, median } from "./machine.ts";
import { KEY, end, startEcho, startService } from "./processes.ts";
import { type Load, shoot } from "./wrk.ts";

const seconds = Number(process.argv[2] ?? 5);
const runs = Number(process.argv[3] ?? 5);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };

const flush = flushTimes(folder);
const echo = await startEcho();
const service = await startService(folder);
try {
	const submit = { url: `${service.url}/v2/noop/run`, body, headers };
	await shoot(submit, { connections: 64, seconds: 2 });
	const loads: Record<"echo" | "run", Load[]> = { echo: [], run: [] };
	for (let run = 0; run < runs; run += 1) {
		loads.echo.push(await shoot({ url: echo.url, body, headers }, { connections: 64, seconds }));
		loads.run.push(await shoot(submit, { connections: 64, seconds }));
	}
	const ratios = loads.run.map((load, run) => Number((load.perSecond / loads.echo[run]!.perSecond).toFixed(3)));
	const result = {
		bench: "submit",
		...machine(),
		flushMs: flush,
		ratio: median(ratios),
		ratios,
		echoPerSecond: median(loads.echo.map((load) => load.perSecond)),
		jobsPerSecond: median(loads.run.map((load) => load.perSecond)),
		at64: {
			p50Ms: median(loads.run.map((load) => load.p50)),
			p99Ms: median(loads.run.map((load) => load.p99)),
		},
		refused: loads.run.reduce((sum, load) => sum + load.refused, 0),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child);
	await end(echo.child);
	rmSync(folder, { recursive: true, force: true });
}
