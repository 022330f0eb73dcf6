/** Launched workers that are sick in one way or another are found out and replaced (D16, D28). */
import { describe, expect, it } from "vitest";
import { fileURLToPath } from "node:url";
import { call } from "../support/service.ts";
import { isAlive, jobAt, run, site, started } from "./site.ts";
import { until } from "../support/until.ts";

/** A Node program that has the worker's `env` and its request `headers`. */
const program = (code: string): string[] => [
	process.execPath,
	"-e",
	"const { env } = process; const headers = { authorization: env.RUNPOD_AI_API_KEY " +
		`}; const keep = setInterval(() => {}, 1000); ${code}`,
];

describe("a launched worker", () => {
	it.concurrent("D16: whose main process dies while its child pings: the job runs elsewhere, the child is ended", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const command = [process.execPath, fileURLToPath(new URL("workers/pinging-child.ts", import.meta.url))];
		const service = await place.serve({
			endpoints: {
				ours: place.launched({ launcher: { type: "process", command }, workersMax: 1 }),
			},
		});
		const id = await run(service, "ours", {});
		const first = await started(place, id);
		const child = await until("the child that pings", () =>
			place.notes().find((note) => note.what === "up" && note.id === "pings" && note.worker === first.worker),
		);
		process.kill(first.pid, "SIGKILL");
		// Far below the lease of 20 s.
		const second = await until("the second run", () => place.runs(id)[1], 10_000);
		expect(second.worker).not.toBe(first.worker);
		expect(isAlive(child.pid)).toBe(false);
		expect(await jobAt(service, "ours", id)).toMatchObject({
			status: "IN_PROGRESS",
			retries: 1,
			workerId: second.worker,
		});
	});

	it.concurrent("D28: that reports itself unfit is ended and replaced after a pause, though it would stay", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const command = program(
			"fetch(env.RUNPOD_WEBHOOK_PING.replace('$RUNPOD_POD_ID', env.RUNPOD_POD_ID) + " +
				"'&status=unhealthy&check=disk&reason=full', { headers })",
		);
		const service = await place.serve({
			endpoints: { ours: { launcher: { type: "process", command }, workersMin: 1, workersMax: 1 } },
		});
		await until("a second start", () => service.stderr().match(/worker \S+ started/g)?.length === 2);
		expect(service.stderr()).toMatch(/worker \S+ is unhealthy: disk: full/);
		expect(service.stderr()).toMatch(
			/no worker could be started: it reports that it is unhealthy: disk: full; next try in 1 s/,
		);
		expect(service.stderr()).toMatch(/worker \S+ ended/);
		// These workers write no diary by which the site could end them.
		await service.end();
	});

	it.concurrent("D28, D29: that never calls is ended after initTimeoutMs, and the waiting job says so", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: {
				ours: {
					launcher: { type: "process", command: program("") },
					initTimeoutMs: 1000,
					stopGraceMs: 0,
				},
			},
		});
		const id = await run(service, "ours", {});
		const reason = await until("the reason", async () => {
			const { json } = await call(service.url, `/v1/endpoints/ours/jobs/${id}`);
			return json.reason.code === "workers_crashing" && json.reason;
		});
		expect(reason.message).toContain(
			"it did not ask for a job within 1000 ms of its start (initTimeoutMs); unless it loads a model, it may never",
		);
		await until("a second start", () => service.stderr().match(/worker \S+ started/g)?.length === 2);
		await service.end();
	});
});
