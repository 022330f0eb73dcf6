import { afterEach, describe, expect, it } from "vitest";
import { startProcess } from "../../../../test/support/worker-kit/process-worker.ts";
import { startWorker } from "../../../../test/support/worker-kit/run-worker.ts";
import { scriptedService } from "../../../../test/support/worker-kit/scripted-service.ts";
import { kitVersion } from "../version.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function service() {
	const started = await scriptedService();
	cleanups.push(() => started.down());
	return started;
}

describe("B.7: pings", () => {
	it("the first at the start, with the key, the version and no job", async () => {
		const scripted = await service();
		const worker = startWorker(scripted, { handler: () => 1 });
		const ping = await scripted.until((one) => one.route === "ping");
		await worker.stop();
		expect(ping).toMatchObject({
			method: "GET",
			ids: ["w-1"],
			query: { gpu: "none", runpod_version: kitVersion },
		});
		expect(ping.query).not.toHaveProperty("job_id");
		expect(ping.headers.authorization).toBe("worker-key");
	});

	it("D16: go on, naming all jobs of the batch, while a handler blocks the event loop", async () => {
		const scripted = await service();
		const child = startProcess(
			scripted.env(),
			"(job, { log }) => { log('begun'); const until = Date.now() + 3500; while (Date.now() < until); return 1; }",
			{ options: "concurrency: 2" },
		);
		cleanups.push(() => child.kill());
		await scripted.until((one) => one.route === "job-take-batch");
		scripted.give({ id: "a", input: 1 }, { id: "b", input: 1 });
		await scripted.until((one) => one.route === "job-done");
		const before = scripted.seen.slice(
			0,
			scripted.seen.findIndex((one) => one.route === "job-done"),
		);
		const named = before.filter((one) => one.route === "ping" && one.query.job_id !== undefined);
		expect(named.length).toBeGreaterThanOrEqual(2);
		for (const ping of named) expect(ping.query.job_id!.split(",").sort()).toEqual(["a", "b"]);
		child.kill();
		await child.exit;
	});

	it("D16: name jobs whose ids do not fit the shared table", async () => {
		const scripted = await service();
		let finish = () => {};
		const finished = new Promise<void>((resolve) => (finish = resolve));
		const worker = startWorker(scripted, { handler: () => finished });
		const id = "x".repeat(400);
		scripted.give({ id, input: 1 });
		await scripted.until((one) => one.query.job_id === id);
		finish();
		await scripted.until((one) => one.query.job_in_progress === "0", 2);
		const pings = scripted.of("ping").length;
		expect((await scripted.until((one) => one.route === "ping", pings + 1)).query).not.toHaveProperty("job_id");
		await worker.stop();
	});

	it("are repeated sooner while the service is unavailable", async () => {
		const scripted = await service();
		const worker = startWorker(scripted, { handler: () => 1 }, { RUNPOD_PING_INTERVAL: "600000" });
		scripted.script = (seen, response) => {
			if (seen.route !== "ping" || scripted.of("ping").length > 1) return false;
			response.writeHead(503).end();
			return true;
		};
		await scripted.until((one) => one.route === "ping", 2);
		await worker.stop();
		expect(scripted.of("ping")).toHaveLength(2);
	});
});
