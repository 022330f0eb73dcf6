/** HTTP workers as workers: their start, their replacement, their sleep, their end. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { explained } from "../../../src/cli/commands/jobs/workers.ts";
import { processTable } from "../../../src/kernel/launchers/process/process-table.ts";
import { until, untilFits } from "../../support/until.ts";
import { httpEndpoints, over, ran, submitted } from "./http-endpoints.ts";

let place: Folder;
let bed: ReturnType<typeof httpEndpoints>;
let service: TestService;

async function serve(endpoints: Record<string, object>, settings: Record<string, unknown> = {}): Promise<void> {
	service = await startService({ endpoints, settings, in: place });
}

beforeEach(() => {
	place = folder();
	bed = httpEndpoints(place);
});
afterEach(async () => {
	await service?.end();
	place.remove();
});

const isRunning = (pid: number): boolean => processTable.find(pid)?.ended === false;

describe("an HTTP worker", () => {
	it("D29: whose server never gets ready names its last answer", async () => {
		bed.setLoading(true);
		await serve({ ep: bed.endpoint({}, { initTimeoutMs: 8000, stopGraceMs: 60_000 }) });
		const id = await submitted(service.url, "ep", { route: "echo" });
		const { reason } = await untilFits(
			async () => (await call(service.url, "/v1/endpoints/ep")).json,
			(found) => found.reason?.lastLine?.includes("GET /ready"),
		);
		const lastLine = "Error: the server did not become ready. GET /ready: HTTP 503 loading model.";
		expect(reason).toMatchObject({ code: "init_timeout", lastLine });
		// As `sluice endpoints` and `sluice workers list` show it.
		expect(explained(reason, Date.now())).toContain(`It printed: ${lastLine}`);
		const { ended } = (await call(service.url, "/v1/endpoints/ep/workers?ended=true")).json;
		expect(ended).toContainEqual(expect.objectContaining({ code: "init_timeout", lastLine }));
		expect((await call(service.url, `/v2/ep/status/${id}`)).json).toMatchObject({ status: "IN_QUEUE" });
		bed.setLoading(false);
		await call(service.url, "/v1/endpoints/ep/workers/start", { method: "POST" });
		const job = await over(service.url, "ep", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
	});

	it("D50: is replaced when its mapping changes, and only then", async () => {
		await serve({ ep: bed.endpoint({}, { workersMin: 1 }) });
		await bed.seen("up");
		const before = [...service.engine.workers.of("ep")].map(({ id }) => id);
		await call(service.url, "/v1/endpoints/ep", { method: "PATCH", body: { idleTimeout: 1800 } });
		expect((await call(service.url, "/v1/endpoints/ep")).json.version).toBe(1);
		const exit = service.next("worker.exited");
		await call(service.url, "/v1/endpoints/ep", { method: "PATCH", body: { http: { request: { path: "/echo" } } } });
		expect(before).toEqual([(await exit).worker]);
		expect(await ran(service.url, "ep", { route: "nowhere" })).toMatchObject({ status: "COMPLETED" });
		expect((await call(service.url, "/v1/endpoints/ep")).json.version).toBe(2);
	});

	it("D18: ends with its server when it is stopped, after its jobs", async () => {
		await serve({ ep: bed.endpoint({}, { workersMin: 1, stopGraceMs: 60_000 }) });
		await ran(service.url, "ep", { route: "echo" });
		const [server] = bed.servers();
		const exit = service.next("worker.exited");
		await call(service.url, "/v1/endpoints/ep", { method: "PATCH", body: { workersMin: 0, workersMax: 0 } });
		expect(await exit).toMatchObject({ code: 0 });
		await bed.seen("down");
		expect(isRunning(server!.pid)).toBe(false);
	});

	it.runIf(process.platform === "linux")("D34: whose adapter is killed leaves no server", async () => {
		await serve({ ep: bed.endpoint({}, { workersMin: 1 }) });
		await ran(service.url, "ep", { route: "echo" });
		const [server] = bed.servers();
		const exit = service.next("worker.exited");
		process.kill(processTable.find(server!.pid)!.parent!, "SIGKILL");
		expect(await exit).toMatchObject({ signal: "SIGKILL" });
		// The kernel ends it when its parent is dead, which the service may learn before.
		await until("the end of the server", () => !isRunning(server!.pid));
	});

	it("D28: sleeps and wakes by its mapping, without commands of the endpoint", async () => {
		const sleep = { path: "/sleep" };
		const wake = { path: "/wake" };
		const rest = { idleTimeout: 1, gpusPerWorker: 1, sleep: {} };
		await serve({ ep: bed.endpoint({ sleep, wake }, rest) }, { gpus: 1 });
		const asleep = service.next("worker.asleep");
		await ran(service.url, "ep", { route: "echo" });
		await asleep;
		await bed.seen("slept");
		const woken = service.next("worker.woken");
		const id = await submitted(service.url, "ep", { route: "echo" });
		await woken;
		await bed.seen("woke");
		expect(await over(service.url, "ep", id)).toMatchObject({ status: "COMPLETED" });
		expect(bed.servers()).toHaveLength(1);
	});

	it.runIf(process.platform === "linux")("D34: goes on with its job while the service is started again", async () => {
		await serve({ ep: bed.endpoint({}, { workersMin: 1 }) });
		await ran(service.url, "ep", { route: "echo" });
		const id = await submitted(service.url, "ep", { route: "slow" });
		await bed.seen("begun");
		const port = Number(new URL(service.url).port);
		await service.stop({ leaveWorkers: true });
		expect(bed.servers().map(({ pid }) => isRunning(pid))).toEqual([true]);
		service = await startService({ endpoints: { ep: bed.endpoint({}, { workersMin: 1 }) }, in: place, port });
		bed.release();
		const job = await over(service.url, "ep", id);
		expect(job).toMatchObject({ status: "COMPLETED", output: "slow" });
		expect(job).not.toHaveProperty("retries");
		expect(bed.servers()).toHaveLength(1);
		const [worker] = [...service.engine.workers.of("ep")];
		expect(worker).toMatchObject({ managed: true });
	});
});
