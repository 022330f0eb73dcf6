/** How long `sluice dev` waits for its worker to end (D36). */
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { systemClock } from "../../../kernel/system/clock.ts";
import { isAlive } from "../../../../test/e2e/site.ts";
import { devWorker } from "./worker-process.ts";

const STUBBORN = `
	process.on("SIGTERM", () => console.log("asked"));
	const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
	setInterval(() => {}, 1000);
	console.log("pids " + process.pid + " " + child.pid);`;

it("D36: a worker that ignores SIGTERM, and its children, are killed within the 2 s of a Ctrl-C", async () => {
	const lines: string[] = [];
	const started = Promise.withResolvers<string[]>();
	let waitedMs = 0;
	const worker = devWorker({
		target: {
			what: "a program",
			command: [process.execPath, "-e", STUBBORN],
			folder: tmpdir(),
			endpoint: "stubborn",
			kit: false,
			env: {},
			testInput: undefined,
			notes: [],
		},
		env: () => ({ PATH: process.env["PATH"] ?? "" }),
		registry: {
			newWorker: async () => ({ RUNPOD_POD_ID: "stubborn-1" }),
			workerEnded: async () => 0,
			progress: () => ({ polled: true, worked: true }),
		},
		// The promise is about its own waits: a busy machine makes each of them longer.
		clock: { ...systemClock, sleep: (ms) => ((waitedMs += ms), systemClock.sleep(ms)) },
		onLine(text) {
			lines.push(text);
			if (text.startsWith("pids")) started.resolve(text.split(" ").slice(1));
		},
		onCrash: () => {},
	});
	worker.restart();
	const pids = await started.promise;
	await worker.stop(500);
	for (const pid of pids) expect(isAlive(Number(pid)), `process ${pid}`).toBe(false);
	expect(lines).toContain("asked");
	expect(waitedMs).toBeGreaterThanOrEqual(500);
	expect(waitedMs).toBeLessThan(2000);
});
