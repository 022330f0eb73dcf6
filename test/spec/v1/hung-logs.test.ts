/** A shared folder that hangs, with a FIFO in place of a log behind a link: jobs and workers go on (D34, D47). */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { logPath } from "../../../src/kernel/launchers/logs/log-files.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { within } from "../../support/until.ts";
import { handWorker, statusOf, submitted } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

let service: TestService;
let fifo: string;
beforeAll(async () => {
	service = await startService({
		endpoints: {
			ours: {
				launcher: { type: "process", command: [process.execPath, "-e", "setInterval(() => {}, 1000)"] },
				workersMax: 2,
				stopGraceMs: 0,
			},
			theirs: {},
		},
	});
	fifo = join(service.folder.path, "shared", "sluice-s", "ours", "log");
});
afterAll(async () => {
	// Ends the wait of all that open it.
	if (fifo !== undefined) closeSync(openSync(fifo, "r+"));
	await service?.end();
});

/** With so many workers of `ours`; the id of the one that comes up for it. */
async function scaled(workersMin: number): Promise<string> {
	const started = service.next("worker.launched");
	await operator(service).patch("/endpoints/ours", { workersMin });
	return (await within("a worker", started)).worker;
}

it("D34: while a log hangs, jobs are run, answered and shown, and workers start and end", async () => {
	const id = await scaled(1);
	const log = logPath(join(service.folder.path, "logs", "process"), id);
	mkdirSync(dirname(fifo), { recursive: true });
	execFileSync("mkfifo", [fifo]);
	rmSync(log);
	symlinkSync(fifo, log);
	const delay = monitorEventLoopDelay({ resolution: 10 });
	delay.enable();
	const path = `/v1/endpoints/ours/workers/${id}/logs`;
	// Calls of one key are paced by the time that its others take.
	const { key } = await keyWith(service, ["admin"]);
	const reads = Array.from({ length: 4 }, () => call(service.url, path, { key }));

	const worker = await handWorker(service, "theirs");
	const job = await submitted(service, "theirs", { input: { n: 1 } });
	await worker.takeThis(job);
	await worker.done(job, { output: "done" });
	expect(await statusOf(service, "theirs", job)).toMatchObject({ status: "COMPLETED", output: "done" });
	await scaled(2);
	const ended = service.next("worker.exited");
	expect((await operator(service).post(`/endpoints/ours/workers/${id}/stop`)).status).toBe(200);
	await within("the end of the first", ended);

	for (const { status } of await within("the answers about the log", Promise.all(reads)))
		expect(status, "it is as if nothing were kept").toBeLessThan(500);
	delay.disable();
	expect(delay.max / 1e6).toBeLessThan(2000);
});
