/**
 * A server that is killed in the middle of a deletion: the next one brings it to its end (D34,
 * D39).
 */
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { isAlive, site } from "./site.ts";
import { until } from "../support/until.ts";

/**
 * Pings once, holds no job, and never ends, whatever it is asked: nothing but the deletion is a
 * reason to end it.
 */
const STUBBORN = `
  process.on("SIGTERM", () => {});
  const { RUNPOD_WEBHOOK_PING: url, RUNPOD_POD_ID: id, RUNPOD_AI_API_KEY: authorization, DIARY } = process.env;
  require("fs").appendFileSync(DIARY, JSON.stringify({ what: "up", id: "", worker: id, pid: process.pid }) + "\\n");
  fetch(url.replace("$RUNPOD_POD_ID", id), { headers: { authorization } });
  setInterval(() => {}, 1000);
`;

describe("DELETE /v1/endpoints/{endpoint} and kill -9", () => {
	it.concurrent("D34, D39: the worker that outlived the server is ended; the endpoint stays deleted", async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: {} });
		const settings = {
			...place.launched({
				launcher: { type: "process", command: [process.execPath, "-e", STUBBORN] },
			}),
			workersMin: 1,
			stopGraceMs: 600_000,
		};
		expect((await call(service.url, "/v1/endpoints", { body: { id: "deleted", ...settings } })).status).toBe(201);
		await until(
			"the worker to call",
			async () => (await call(service.url, "/v2/deleted/health")).json.workers.idle === 1,
		);
		const [worker] = place.notes();
		expect((await call(service.url, "/v1/endpoints/deleted", { method: "DELETE" })).status).toBe(200);
		await service.end("SIGKILL");
		expect(isAlive(worker!.pid)).toBe(true);

		const next = await place.serve();
		expect((await call(next.url, "/v2/deleted/health")).status).toBe(404);
		await until("the worker to exit", () => !isAlive(worker!.pid));
		await until(
			"the id to be free",
			async () => (await call(next.url, "/v1/endpoints", { body: { id: "deleted" } })).status === 201,
		);
		expect((await call(next.url, "/v2/deleted/health")).json.jobs).toMatchObject({
			inQueue: 0,
			inProgress: 0,
		});
	});
});
