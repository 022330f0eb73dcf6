/**
 * A service whose work for a job is counted, in a process of its own, from its source. Its clock stands still, so that
 * nothing but the job runs. Arguments: `none` or `all` modules, and the address of the store. It prints its address;
 * each line on its standard input is answered by a line with the counts since the last one.
 */
import { type Profiler, Session } from "node:inspector";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import type { Clock } from "../../src/kernel/system/clock.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { KEY, type Counts } from "./counts.ts";

const SOURCE = new URL("../../src/", import.meta.url).href;
const FILE = JSON.stringify({ endpoints: { noop: {} }, budgets: { reservedDisk: 0 } });

// Functions that are compiled before are not counted.
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const { startApp } = await import("../../src/kernel/compose.ts");
const { loadConfig } = await import("../../src/kernel/config/config.ts");
const { eventBus } = await import("../../src/kernel/events.ts");
const { sizeOfHistogram } = await import("../../src/kernel/lib/histogram.ts");
const { openStore } = await import("../../src/kernel/stores.ts");
const { MODULES } = await import("../../src/modules/index.ts");

const [which, address] = process.argv.slice(2);
const modules = which === "all" ? MODULES : [];
const loaded = loadConfig({
	modules,
	flags: { port: "0", store: address!, "data-dir": process.cwd() },
	env: { SLUICE_API_KEY: KEY, SLUICE_SECRET: "the secret of all services under test" },
	cwd: process.cwd(),
	readFile: () => FILE,
});
if (!loaded.ok) throw new Error(loaded.problems.join("\n"));

const began = Date.now();
const clock = {
	now: () => began,
	wall: () => began,
	sleep: (_ms: number, signal?: AbortSignal) =>
		new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true })),
} as Clock;
let store: Store | undefined;
const app = await startApp(loaded.config, {
	modules,
	clock,
	events: eventBus(),
	env: {},
	open: async (q) => (store = await openStore(q)),
});

/** Files of the source with a function that was called since the last reading. */
function filesRun(): string[] {
	let scripts: Profiler.ScriptCoverage[] = [];
	// It calls back before it returns.
	session.post("Profiler.takePreciseCoverage", (error, { result }) => {
		if (error) throw error;
		scripts = result;
	});
	return scripts
		.filter(({ url, functions }) => url.startsWith(SOURCE) && functions.some(({ ranges }) => ranges[0]!.count > 0))
		.map(({ url }) => url.slice(SOURCE.length));
}

let turnsBefore = 0;
let commitsBefore = 0;
createInterface({ input: process.stdin }).on("line", () => {
	const files = filesRun();
	const turns = performance.nodeTiming.uvMetricsInfo.loopCount;
	const commits = sizeOfHistogram(store!.load!().commitSizes);
	const counts: Counts = { files, turns: turns - turnsBefore, commits: commits - commitsBefore };
	process.stdout.write(`${JSON.stringify(counts)}\n`);
	[turnsBefore, commitsBefore] = [turns, commits];
});
process.stdout.write(`${app.url}\n`);
