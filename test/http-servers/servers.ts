/** Endpoints of HTTP servers, with a service in this process. They need settings only. */
import { randomUUID } from "node:crypto";
import type { TestContext } from "vitest";
import { processEnvironment, resolveMapping, runAdapter } from "../../packages/worker/src/http/index.ts";
import { call, type Folder, folder, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type ServerProcess, serverProcess } from "./processes.ts";

/** One worker of the launcher process, whose server takes the port that the adapter found. */
export function processEndpoint(command: readonly string[], http: object, rest: object = {}): object {
	return {
		launcher: { type: "process", command },
		http: { port: 0, ...http },
		idleTimeout: 3600,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		workersMax: 1,
		stopGraceMs: 30_000,
		...rest,
	};
}

export interface Site {
	place: Folder;
	service: TestService;
	/** Submits a job of the endpoint and resolves with its id. */
	submit(input: object): Promise<string>;
	/** The job once it has ended. */
	over(id: string): Promise<any>;
	/** Runs a job to its end. */
	run(input: object): Promise<any>;
	status(id: string): Promise<any>;
	cancel(id: string): Promise<void>;
	/** The server of the endpoint's worker. Linux only. */
	server(): ServerProcess & { worker: string };
}

/** A service with the endpoint `ep`, which ends with the test. `endpoint` gets the folder of the test. */
export async function site(
	{ onTestFinished }: Pick<TestContext, "onTestFinished">,
	endpoint: (place: Folder) => object | Promise<object>,
): Promise<Site> {
	const place = folder();
	onTestFinished(() => place.remove());
	const service = await startService({ endpoints: { ep: await endpoint(place) }, in: place });
	onTestFinished(() => service.end());
	const at = (path: string, init?: Parameters<typeof call>[2]) => call(service.url, `/v2/ep/${path}`, init);
	const made: Site = {
		place,
		service,
		submit: async (input) => (await at("run", { body: { input } })).json.id,
		status: async (id) => (await at(`status/${id}`)).json,
		over: (id) =>
			until(
				`the end of job ${id}`,
				async () => {
					const job = await made.status(id);
					return !["IN_QUEUE", "IN_PROGRESS"].includes(job.status) && job;
				},
				SLOW_MS,
			),
		run: async (input) => made.over(await made.submit(input)),
		cancel: async (id) => void (await at(`cancel/${id}`, { method: "POST" })),
		server() {
			for (const { id: worker } of service.engine.workers.of("ep")) {
				const found = serverProcess(`RUNPOD_POD_ID=${worker}`);
				if (found) return { ...found, worker };
			}
			throw new Error("No worker of the endpoint has a server.");
		},
	};
	return made;
}

/** A server that runs already, in this process. */
interface Fake {
	port: number;
	close(): Promise<void>;
}

/** Starts a fake server, which ends with the test. */
export async function fakeOf<T extends Fake>(
	{ onTestFinished }: Pick<TestContext, "onTestFinished">,
	starting: Promise<T>,
): Promise<T> {
	const fake = await starting;
	onTestFinished(() => fake.close());
	return fake;
}

/** A service whose endpoint `ep` has one worker, the adapter in this process before a server that runs already. */
export async function connectedSite(
	test: Pick<TestContext, "onTestFinished">,
	http: object,
	fake: Fake,
): Promise<Site> {
	const made = await site(test, () => ({ http }));
	const { url } = made.service;
	const { mapping } = (await call(url, "/v1/endpoints/ep/http")).json;
	const read = resolveMapping({ ...mapping, port: fake.port });
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	const { env } = (await call(url, `/v1/endpoints/ep/worker-env?url=${url}`, { method: "POST" })).json;
	const stopping = new AbortController();
	const exit = runAdapter({
		...{ ...processEnvironment(), mapping: read.mapping, command: [], isLaunched: false, env, argv: [] },
		...{ randomId: randomUUID, write: () => {}, signal: stopping.signal },
	});
	test.onTestFinished(async () => {
		stopping.abort();
		// After a failure a job may still wait for the server.
		await fake.close();
		await exit;
	});
	return made;
}

/** Servers in Python start slowly on a busy machine, ms. */
export const SLOW_MS = 100_000;
