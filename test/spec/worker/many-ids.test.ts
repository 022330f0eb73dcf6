/** What many workers of one token may cost, and what events of many workers cost the scaling (D26, D28). */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { bench, submit, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { sdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";

const MOST = 2000;
const FORGOTTEN_MS = 121_000;

it("D28: events of a thousand workers at once lead to ten checks of the scaling, and one for each 50 ms", async () => {
	const b = await bench({ endpoints: { ep: { launcher: { type: "process", command: ["true"] }, workersMax: 1 } } });
	try {
		const { registry } = b.service.engine.workers;
		let reads = 0;
		const { all } = registry;
		registry.all = () => ((reads += 1), all());
		await b.clock.advance(1000);
		const perSecond = reads;
		reads = 0;
		for (let n = 0; n < 1000; n += 1) {
			b.service.events.emit("worker.draining", { endpoint: "ep", worker: `w-${n}`, why: "a test" });
			await setImmediate();
		}
		expect(reads, "each check reads all workers a few times").toBeLessThan(11 * perSecond);
		registry.all = all;
	} finally {
		await b.end();
	}
});

it("D26: a token of many replicas has 2,000 ids at most; results are never refused, ids are forgotten", async () => {
	const b = await bench();
	try {
		const env = await workerEnvOf(b.url, b.ep, { replicas: true });
		const replica = (id: string) => sdkProtocol({ ...env, RUNPOD_POD_ID: id });
		const [first, late] = [replica("replica-0"), replica("late")];
		expect((await first.ping()).status).toBe(200);
		// As calls with this token would be counted; 2,000 requests take long.
		const { token } = b.service.engine.workers.registry.get({ endpoint: b.ep, id: "replica-0" })!;
		for (let n = 1; n < MOST; n += 1)
			b.service.engine.workers.recordCall({ endpoint: b.ep, id: `replica-${n}`, launchedAs: undefined, token });
		const refused = await late.ping();
		expect(refused.status, refused.text).toBe(429);
		expect(JSON.parse(refused.text)).toEqual({
			code: "too_many_worker_ids",
			error: expect.stringMatching(
				/^2000 worker ids already use this token .*'late' would exceed the limit\. .*--replicas'\.$/,
			),
		});
		// The token of another worker is not affected, nor is a worker that is known.
		expect((await (await b.worker()).ping()).status).toBe(200);
		expect((await first.ping()).status).toBe(200);
		const id = await submit(b.url, { input: {} }, b.ep);
		await b.takes(first, id);
		expect((await late.done(id, { output: "not its job" })).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		const { workers } = (await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json;
		expect(workers.map((each: { id: string }) => each.id)).not.toContain("late");
		await b.pass(FORGOTTEN_MS);
		expect((await late.ping()).status).toBe(200);
		for (const each of [first, late]) each.close();
	} finally {
		await b.end();
	}
});
