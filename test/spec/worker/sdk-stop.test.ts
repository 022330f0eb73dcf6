/**
 * Whole SDK workers that stop: SIGTERM, old versions, `refresh_worker` (protocol B.8; D16, D28).
 */
import { advanceUntil } from "../../support/manual-clock.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import type { SdkWorker } from "../../support/sdk-worker.ts";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import { untilTrue } from "../../support/until.ts";

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const runsync = async (input: object = {}): Promise<any> => (await b.call(`runsync`, { body: { input } })).json;
const posts = ({ protocol }: SdkWorker): { path: string; body: unknown }[] =>
	protocol.sent
		.filter(({ method }) => method === "POST")
		.map(({ path, body }) => ({
			path: path.replace(/^\/worker\/[^/]+\/(job-\w+)\/[^?]+/, "$1"),
			body: JSON.parse(body),
		}));
describe("B.8: SIGTERM", () => {
	it("a worker that gets SIGTERM finishes its job, posts it, and ends when its polls return", async () => {
		let finish = (): void => {};
		const sdk = await b.sdk({
			handler: () => new Promise((resolve) => (finish = () => resolve("done"))),
		});
		const id = await b.submit();
		await untilTrue(() => sdk.began.length === 1);
		sdk.terminate();
		const settled = b.next("job.settled");
		finish();
		expect(await b.reached(settled)).toMatchObject({ id, state: "COMPLETED" });
		let ended = false;
		void sdk.ended.then(() => (ended = true));
		await advanceUntil(b.clock, () => ended, 1000);
	});

	it("D16: a job handed to the poll of a worker that leaves never runs there; it is lost once", async () => {
		const leaving = await b.sdk({ handler: () => "never", pingEveryMs: 0 });
		await untilTrue(() => b.service.engine.workers.recordCall(leaving.protocol).takes > 0);
		await leaving.ping();
		leaving.terminate();
		const id = await b.submit();
		await untilTrue(() => leaving.held().length === 1);
		expect(await leaving.ping()).toBe(200);
		expect(await b.status(id)).toMatchObject({
			status: "IN_PROGRESS",
			workerId: leaving.protocol.id,
		});
		await b.sdk({ handler: () => "elsewhere" });
		const settled = b.next("job.settled");
		await b.clock.advance(20_000);
		expect(await b.reached(settled)).toMatchObject({ id, state: "COMPLETED" });
		expect(await b.status(id)).toMatchObject({ output: "elsewhere", retries: 1 });
		expect(leaving.began).toEqual([]);
	});

	it("D16: a version below 1.7.3 dies of it at once: what it ran is lost with its lease", async () => {
		const old = await b.sdk({ version: "1.6.2", handler: () => new Promise(() => {}) });
		const id = await b.submit();
		await untilTrue(() => old.began.length === 1);
		old.terminate();
		await old.ended;
		await b.sdk({ handler: () => "elsewhere" });
		const settled = b.next("job.settled");
		await b.clock.advance(20_000);
		expect(await b.reached(settled)).toMatchObject({ id, state: "COMPLETED" });
		expect(await b.status(id)).toMatchObject({ output: "elsewhere", retries: 1 });
	});

	it("D28: so a launched one is drained first: 204 to both polls, no more jobs, then the signal", async () => {
		const note = join(b.service.folder.path, "launched");
		await b.fresh({
			launcher: {
				type: "process",
				command: [
					"sh",
					"-c",
					`echo PID=$$ > '${note}.part'; env >> '${note}.part'; mv '${note}.part' '${note}'; exec sleep 300`,
				],
			},
			idleTimeout: 1,
			stopGraceMs: 600_000,
		});
		const id = await b.submit();
		await b.reached(untilTrue(() => existsSync(note)));
		const env = Object.fromEntries(
			readFileSync(note, "utf8")
				.split("\n")
				.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
		);
		const worker = b.again({ env } as SdkProtocol);
		await b.takes(worker, id);
		await worker.done(id, {});
		const polls = [
			await b.held(worker, (signal) => worker.take({ signal })),
			await b.held(worker, (signal) => worker.stop({ signal })),
		];
		await advanceUntil(b.clock, () => b.of("worker.stopping").length > 0, 5);
		for (const { answer } of polls) expect(await answer).toEqual({ status: 204, type: "", text: "" });
		const next = await b.submit();
		expect(await b.status(next)).toMatchObject({ status: "IN_QUEUE" });
		const alive = (): boolean => process.kill(Number(env["PID"]), 0);
		expect(alive()).toBe(true);
		expect(b.of("worker.exited")).toEqual([]);
		await advanceUntil(b.clock, () => b.of("worker.exited").length > 0, 5);
		expect(b.of("worker.exited")).toMatchObject([{ worker: worker.id, signal: "SIGTERM" }]);
		expect(alive).toThrow("ESRCH");
	});

	it("refresh_worker in its configuration: the result counts, the worker takes nothing more", async () => {
		const sdk = await b.sdk({ handler: () => 1, refresh: true });
		expect(await runsync()).toMatchObject({ status: "COMPLETED", output: 1 });
		expect(posts(sdk)).toEqual([{ path: "job-done?gpu=none&isStream=false", body: { output: 1, stopPod: true } }]);
		let ended = false;
		void sdk.ended.then(() => (ended = true));
		await advanceUntil(b.clock, () => ended, 1000);
	});
});
