/** How long `sluice dev` waits for its worker to end, and when it reports one that does not ask for jobs (D36). */
import { tmpdir } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../kernel/system/clock.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { isAlive } from "../../../../test/e2e/site.ts";
import { devWorker } from "./worker-process.ts";

const STUBBORN = `
	process.on("SIGTERM", () => console.log("asked"));
	const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
	setInterval(() => {}, 1000);
	console.log("pids " + process.pid + " " + child.pid);`;

const target = (code: string) => ({
	what: "a program",
	command: [process.execPath, "-e", code],
	folder: tmpdir(),
	endpoint: "ep",
	kit: false,
	env: {},
	testInput: undefined,
	notes: [],
});

/** A worker that prints once it runs; `polled`: whether it has asked for a job. */
async function running(q: { polled: boolean; code?: string }) {
	const clock = manualClock();
	const began = Promise.withResolvers<void>();
	const ended = Promise.withResolvers<void>();
	let hints = 0;
	const worker = devWorker({
		target: target(q.code ?? "console.log(1); setInterval(() => {}, 1000)"),
		env: () => ({ PATH: process.env["PATH"] ?? "" }),
		registry: {
			newWorker: async () => ({ RUNPOD_POD_ID: "w-1" }),
			workerEnded: async () => 0,
			progress: () => ({ polled: q.polled, worked: false }),
		},
		clock,
		onLine: () => began.resolve(),
		onCrash: () => ended.resolve(),
		onSilence: () => (hints += 1),
	});
	onTestFinished(() => worker.stop(0));
	worker.restart();
	await began.promise;
	return { clock, worker, ended: ended.promise, hints: () => hints };
}

it("D36: a worker that is alive for 30 s without asking for a job gets one hint", async () => {
	const { clock, hints } = await running({ polled: false });
	await clock.advance(29_999);
	expect(hints()).toBe(0);
	await clock.advance(1);
	expect(hints()).toBe(1);
	await clock.advance(100_000);
	expect(hints()).toBe(1);
});

it("D36: none for one that asks for jobs, nor for one that ends before", async () => {
	const asking = await running({ polled: true });
	await asking.clock.advance(100_000);
	expect(asking.hints()).toBe(0);
	const ending = await running({ polled: false, code: "console.log(1)" });
	await ending.ended;
	await ending.clock.advance(100_000);
	expect(ending.hints()).toBe(0);
});

it("D36: one that was stopped gets none", async () => {
	const { clock, worker, hints } = await running({ polled: false });
	await clock.advance(20_000);
	await worker.stop(0);
	await clock.advance(100_000);
	expect(hints()).toBe(0);
});

it("D36: a worker that ignores SIGTERM, and its children, are killed within the 2 s of a Ctrl-C", async () => {
	const lines: string[] = [];
	const started = Promise.withResolvers<string[]>();
	let waitedMs = 0;
	const worker = devWorker({
		target: target(STUBBORN),
		env: () => ({ PATH: process.env["PATH"] ?? "" }),
		registry: {
			newWorker: async () => ({ RUNPOD_POD_ID: "stubborn-1" }),
			workerEnded: async () => 0,
			progress: () => ({ polled: true, worked: true }),
		},
		// The promise is about the waits for its end: a busy machine makes each of them longer.
		clock: {
			...systemClock,
			sleep(ms, signal) {
				if (!signal) waitedMs += ms;
				return systemClock.sleep(ms, signal);
			},
		},
		onLine(text) {
			lines.push(text);
			if (text.startsWith("pids")) started.resolve(text.split(" ").slice(1));
		},
		onCrash: () => {},
		onSilence: () => {},
	});
	worker.restart();
	const pids = await started.promise;
	await worker.stop(500);
	for (const pid of pids) expect(isAlive(Number(pid)), `process ${pid}`).toBe(false);
	expect(lines).toContain("asked");
	expect(waitedMs).toBeGreaterThanOrEqual(500);
	expect(waitedMs).toBeLessThan(2000);
});
