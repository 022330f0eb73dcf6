/** DELETE /v1/endpoints/{endpoint}: jobs cancelled, workers ended, the id free again (D39). */
import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, folder, startService, type TestService } from "../../support/service.ts";
import { begun, endWith, expectError, handWorker, submitted } from "../hand-worker.ts";
import { operator } from "../operator.ts";

/** Takes one job and never ends it. */
const HANGS = `
  const { RUNPOD_WEBHOOK_GET_JOB: url, RUNPOD_POD_ID: id, RUNPOD_AI_API_KEY: authorization } = process.env;
  fetch(url.replace("$ID", id) + "&job_in_progress=0", { headers: { authorization } });
  setInterval(() => {}, 1000);
`;
const LAUNCHED = {
	launcher: { type: "process", command: [process.execPath, "-e", HANGS] },
	workersMax: 1,
	stopGraceMs: 0,
};

const services: TestService[] = [];
afterEach(async () => {
	for (const service of services.splice(0)) await service.end();
});

async function service(): Promise<TestService> {
	const started = await startService({ endpoints: { other: {} } });
	services.push(started);
	return started;
}

/** Asks until the id is free: the endpoint is being deleted until then. */
async function again(url: string, id: string, settings: object = {}): Promise<any> {
	for (;;) {
		const answer = await operator({ url }).post("/endpoints", { id, ...settings });
		if (answer.status === 201) return answer.json;
		expect(expectError(answer, 409, "endpoint_exists").error).toContain("which is being deleted");
	}
}

describe("DELETE /v1/endpoints/{endpoint}", () => {
	it("D39: cancels all jobs, ends the worker, leaves other endpoints alone, and the id is free again", async () => {
		const here = await service();
		const admin = operator(here);
		expect((await admin.post("/endpoints", { id: "deleted", ...LAUNCHED })).status).toBe(201);
		const other = await submitted(here, "other");
		const started = here.next("job.started");
		const waiter = await begun(here.url, "/v2/deleted/runsync", { body: { input: {} } });
		const { worker } = await started;
		const waiting = await submitted(here, "deleted");
		const cancelled = here.next("job.settled", ({ id }) => id === waiting);
		const exited = here.next("worker.exited", (facts) => facts.worker === worker);

		const { status, json } = await admin.remove("/endpoints/deleted");
		expect(status).toBe(200);
		expect(json).toMatchObject({
			id: "deleted",
			jobs: { inQueue: 1, inProgress: 1 },
			workers: { running: 1 },
		});
		for (const path of [
			"/v2/deleted/health",
			`/v2/deleted/status/${waiting}`,
			"/v1/endpoints/deleted",
			"/v1/endpoints/deleted/jobs",
		])
			expectError(await call(here.url, path), 404, "endpoint_not_found");
		expectError(await admin.remove("/endpoints/deleted"), 404, "endpoint_not_found");
		expectError(await call(here.url, "/v2/deleted/run", { body: { input: {} } }), 404, "endpoint_not_found");

		expect(await waiter.answer).toMatchObject({ status: 200, json: { status: "CANCELLED" } });
		expect((await cancelled).state).toBe("CANCELLED");
		await exited;
		expect((await call(here.url, `/v2/other/status/${other}`)).json.status).toBe("IN_QUEUE");

		const fresh = await again(here.url, "deleted");
		expect(fresh).toMatchObject({
			launcher: { type: "external" },
			jobs: { inQueue: 0, inProgress: 0, completed: 0, failed: 0 },
			workers: { running: 0, idle: 0 },
		});
		const attached = await handWorker(here, "deleted");
		await attached.takeThis(await submitted(here, "deleted"));
	});

	it("D39, D26: a worker of the deleted endpoint is none of a new one, and its token opens nothing there", async () => {
		const here = await service();
		const admin = operator(here);
		await admin.post("/endpoints", { id: "deleted" });
		const worker = await handWorker(here, "deleted");
		await worker.takeThis(await submitted(here, "deleted"));
		await admin.remove("/endpoints/deleted");
		await again(here.url, "deleted");
		expect((await admin.seen("/endpoints/deleted/workers")).workers).toEqual([]);
		const answer = await call(here.url, `/worker/deleted/ping/${worker.id}`, {
			headers: { authorization: worker.token },
		});
		expectError(answer, 401, "worker_unauthorized");
	});

	it("D39: no change that comes at the same time brings a deleted endpoint back", async () => {
		const here = await service();
		const { endpoints } = here.engine;
		const changes = [
			(id: string) => endpoints.renewWebhookSecret(id),
			(id: string) => endpoints.update(id, { name: "New" }),
			(id: string) => endpoints.pause(id, true),
		];
		for (const [index, change] of changes.entries()) {
			for (const first of ["change", "removal"]) {
				const id = `${first}-${index}`;
				await endpoints.create({ id });
				const removal = first === "removal" ? endpoints.remove(id) : undefined;
				const changed = change(id).then(
					() => "done",
					() => "refused",
				);
				await (removal ?? endpoints.remove(id));
				expect(await changed).toBe(first === "change" ? "done" : "refused");
				expectError(await operator(here).get(`/endpoints/${id}`), 404, "endpoint_not_found");
				await again(here.url, id);
			}
		}
	});

	it("D39: thousands of jobs are cancelled, and the service answers meanwhile", async () => {
		const here = await service();
		const admin = operator(here);
		await admin.post("/endpoints", { id: "full", limits: "off" });
		const ids = new Set<string>();
		for (let round = 0; round < 12; round += 1)
			for (const id of await Promise.all(Array.from({ length: 100 }, () => submitted(here, "full")))) ids.add(id);
		const settled = new Set<string>();
		here.events.on("job.settled", ({ id, state }) => void (state === "CANCELLED" && settled.add(id)));
		expect((await admin.remove("/endpoints/full")).json.jobs.inQueue).toBe(1200);
		expect((await call(here.url, "/v2/other/health")).status).toBe(200);
		await again(here.url, "full");
		expect(settled).toEqual(ids);
	});

	it("D39: survives a restart in the middle: still unknown, then forgotten", {
		timeout: 30_000,
	}, async () => {
		const clock = manualClock();
		const place = folder();
		const start = (): Promise<TestService> =>
			startService({
				endpoints: {},
				settings: { webhooks: { allowPrivateNetworks: true } },
				in: place,
				clock,
			});
		const create = (at: TestService): ReturnType<typeof call> => operator(at).post("/endpoints", { id: "deleted" });
		try {
			const first = await start();
			expect((await create(first)).status).toBe(201);
			// A delivery that fails holds the deletion up: it is tried again for 20 s.
			await submitted(first, "deleted", { input: {}, webhook: "http://127.0.0.1:1/" });
			expect((await operator(first).remove("/endpoints/deleted")).status).toBe(200);
			await endWith(first, clock);

			const second = await start();
			expectError(await call(second.url, "/v2/deleted/health"), 404, "endpoint_not_found");
			expectError(await create(second), 409, "endpoint_exists");
			let answer = await create(second);
			while (answer.status === 409) {
				await clock.advance(500);
				answer = await create(second);
			}
			expect(answer.status, answer.text).toBe(201);
			expect(answer.json.jobs).toMatchObject({ inQueue: 0, inProgress: 0 });
			await endWith(second, clock);
		} finally {
			place.remove();
		}
	});
});
