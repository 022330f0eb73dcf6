/** Jobs of HTTP workers: an adapter of the launcher process, and a server of Node that knows no job. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { httpEndpoints, over, ran, submitted } from "./http-endpoints.ts";

let place: Folder;
let bed: ReturnType<typeof httpEndpoints>;
let service: TestService;

async function serve(http: object = {}, rest: object = {}): Promise<void> {
	service = await startService({ endpoints: { ep: bed.endpoint(http, rest) }, in: place });
}

beforeEach(() => {
	place = folder();
	bed = httpEndpoints(place);
});
afterEach(async () => {
	await service?.end();
	place.remove();
});

const detailsOf = async (id: string): Promise<any> => (await call(service.url, `/v1/endpoints/ep/jobs/${id}`)).json;

describe("a job of an HTTP worker", () => {
	it("is a request to the server, whose answer is the output", async () => {
		await serve();
		const input = { route: "echo", text: "größer" };
		expect(await ran(service.url, "ep", input)).toMatchObject({ status: "COMPLETED", output: { got: input } });
	});

	it("D26: the server has the endpoint's variables, and none that give access to the service", async () => {
		await serve();
		await ran(service.url, "ep", { route: "echo" });
		const [server] = bed.servers();
		const present =
			process.platform === "linux"
				? readFileSync(`/proc/${server!.pid}/environ`, "utf8").split("\0")
				: Object.entries(server!.env).map(([name, value]) => `${name}=${value}`);
		expect(present).toContain(`PLACE=${place.path}`);
		const access = /^(?:RUNPOD_WEBHOOK_.*|RUNPOD_AI_API_KEY|SLUICE_HTTP)=|sluice_worker_/;
		expect(present.filter((entry) => access.test(entry))).toEqual([]);
		// By these the service finds a server that its adapter has left.
		expect(present.filter((entry) => /^(RUNPOD_POD_ID|SLUICE_SERVICE_ID)=/.test(entry))).toHaveLength(2);
	});

	it("streams the events of the server's answer", async () => {
		await serve({ stream: { when: "always", as: "sse", at: "/token", end: "[DONE]", output: "chunks" } });
		const id = await submitted(service.url, "ep", { route: "stream" });
		await over(service.url, "ep", id);
		const { json } = await call(service.url, `/v2/ep/stream/${id}`);
		const chunks: { output: unknown }[] = json.stream ?? json;
		expect(chunks.map(({ output }) => output)).toEqual(["one", "two", "three"]);
	});

	it("waits without a loss while the server loads", async () => {
		bed.setLoading(true);
		await serve();
		const id = await submitted(service.url, "ep", { route: "echo" });
		await bed.seen("asked", 3);
		expect((await call(service.url, `/v2/ep/status/${id}`)).json).toMatchObject({ status: "IN_QUEUE" });
		bed.setLoading(false);
		const job = await over(service.url, "ep", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
	});

	it("fails with the server's status and answer", async () => {
		await serve();
		const job = await ran(service.url, "ep", { route: "nowhere" });
		expect(job.status).toBe("FAILED");
		expect(job.error).toContain("404");
		expect(job.error).toContain("no route /nowhere");
	});

	it("D16: is lost once with a server that ends, whose exit code is the worker's", async () => {
		await serve();
		const exit = service.next("worker.exited");
		const id = await submitted(service.url, "ep", { route: "end" });
		expect(await exit).toMatchObject({ code: 7, lastOutput: expect.stringContaining("the model is broken") });
		expect(await over(service.url, "ep", id)).toMatchObject({ status: "COMPLETED", output: "again", retries: 1 });
		expect(bed.servers()).toHaveLength(2);
	});

	it("D54: is no loss where the server is busy", async () => {
		await serve({ errors: { busyMs: 1000 } });
		const id = await submitted(service.url, "ep", { route: "busy" });
		const job = await over(service.url, "ep", id);
		expect(job).toMatchObject({ status: "COMPLETED", output: "free" });
		expect(job).not.toHaveProperty("retries");
		const { attempts } = await detailsOf(id);
		expect(attempts.slice(0, -1)).toMatchObject([
			{ end: "released", returned: true },
			{ end: "released", returned: true },
		]);
	});

	it("ends on the server within 5 s of its cancellation", async () => {
		await serve();
		const id = await submitted(service.url, "ep", { route: "hang" });
		await bed.seen("begun");
		expect((await call(service.url, `/v2/ep/cancel/${id}`, { method: "POST" })).json.status).toBe("CANCELLED");
		await bed.seen("closed", 1, 5000);
		expect(await ran(service.url, "ep", { route: "echo" }), "the worker goes on").toMatchObject({
			status: "COMPLETED",
		});
		expect(bed.servers()).toHaveLength(1);
	});
});
