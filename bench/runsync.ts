/**
 * No-op jobs through `/runsync`, worker in its own process, store durable, next to a bare echo in
 * the same run, and to two relays that hand jobs to the same worker: what the protocol costs, and
 * what flushes cost. Figures are ratios: the machines are noisy. `node bench/runsync.ts [seconds]
 * [runs]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushTimes, machine, median } from "./machine.ts";
import { KEY, end, startEcho, startJobRelay, startService, startWorker } from "./processes.ts";
import { type Load, shoot, type Shot } from "./wrk.ts";

const seconds = Number(process.argv[2] ?? 5);
const runs = Number(process.argv[3] ?? 5);
/** Until the compiler has made what is busy fast, s: a service runs for days. */
const WARM_UP = 6;
type Name = "echo" | "relay" | "durableRelay" | "runsync";

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };

const flush = flushTimes(folder);
const echo = await startEcho();
const service = await startService(folder);
const worker = await startWorker(service.url);
const relay = await startJobRelay("noop-worker.ts");
const durableRelay = await startJobRelay("noop-worker.ts", join(folder, "relay"));
try {
	const shots: Record<Name, Shot> = {
		echo: { url: echo.url, body, headers },
		relay: { url: relay.url, body, headers },
		durableRelay: { url: durableRelay.url, body, headers },
		runsync: { url: `${service.url}/v2/noop/runsync`, body, headers },
	};
	const names = Object.keys(shots) as Name[];
	for (const name of names.slice(1)) await shoot(shots[name], { connections: 64, seconds: WARM_UP });
	const loads: Record<Name, Load[]> = { echo: [], relay: [], durableRelay: [], runsync: [] };
	for (let run = 0; run < runs; run += 1)
		for (const name of names) loads[name].push(await shoot(shots[name], { connections: 64, seconds }));
	const measured = async (
		name: Name,
		connections: number,
	): Promise<{ p50Ms: number; p99Ms: number; perSecond: number }> => {
		const { p50, p99, perSecond } = await shoot(shots[name], { connections, seconds });
		return { p50Ms: p50, p99Ms: p99, perSecond };
	};
	const ratiosOf = (name: Name): number[] =>
		loads[name].map((load, run) => Number((load.perSecond / loads.echo[run]!.perSecond).toFixed(3)));
	const ratios = ratiosOf("runsync");
	const limits = { relay: ratiosOf("relay"), durableRelay: ratiosOf("durableRelay") };
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
		at1: await measured("runsync", 1),
		relayAt1: await measured("relay", 1),
		durableRelayAt1: await measured("durableRelay", 1),
		at8: await measured("runsync", 8),
		relayAt8: await measured("relay", 8),
		durableRelayAt8: await measured("durableRelay", 8),
		relayRatio: median(limits.relay),
		durableRelayRatio: median(limits.durableRelay),
		limits,
		refused: names.flatMap((name) => loads[name]).reduce((sum, load) => sum + load.refused, 0),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(worker);
	await end(service.child);
	await end(echo.child);
	// Its workers would wait for their reports.
	for (const child of [...relay.children, ...durableRelay.children]) await end(child, "SIGKILL");
	rmSync(folder, { recursive: true, force: true });
}
