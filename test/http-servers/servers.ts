/** Endpoints of HTTP servers that are programs of Debian, with a service in this process. They need settings only. */
import type { TestContext } from "vitest";
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

/** Servers in Python start slowly on a busy machine, ms. */
export const SLOW_MS = 100_000;
