/** Service for worker tests: real sockets on 127.0.0.1, scripted answers, records all requests. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request with its whole body. */
export interface Seen {
	method: string;
	/** `job-take`, `job-take-batch`, `job-stop`, `job-done`, `job-stream` or `ping`. */
	route: string;
	/** Path segments after the route: worker id, job id. */
	ids: string[];
	query: Record<string, string>;
	headers: IncomingMessage["headers"];
	body: string;
}

/** Answers a request, or returns false for the default behaviour. */
export type Script = (seen: Seen, response: ServerResponse) => boolean | void;

/** The scripted service. */
export interface ScriptedService {
	readonly seen: Seen[];
	/** Called first for each request. */
	script: Script;
	/** Jobs waiting for takes, as JSON. */
	readonly queue: string[];
	/** Queues jobs, as objects or JSON. */
	give(...jobs: (string | object)[]): void;
	/** Ids for the next answer of the stop channel. */
	stopJobs(...ids: string[]): void;
	/** Answers all open polls with 204. */
	release(): void;
	/** Resolves with the `count`th matching request (default: first), past or future. */
	until(matches: (seen: Seen) => boolean, count?: number): Promise<Seen>;
	of(route: string): Seen[];
	openTakes(): number;
	/** Bodies of job-done posts, in order. */
	results(): string[];
	/** Environment of worker `w-1` of endpoint `ep`. */
	env(more?: Record<string, string>): Record<string, string>;
	/** Stops listening and closes all connections. */
	down(): Promise<void>;
	/** Listens again on the same port. */
	up(): Promise<void>;
}

/** By default holds empty polls, returns the jobs from `give`, and answers all else with 200. */
export async function scriptedService(): Promise<ScriptedService> {
	let server: Server;
	let port = 0;
	let openTakes: { response: ServerResponse; max: number }[] = [];
	let openStops: ServerResponse[] = [];
	const stops: string[] = [];
	let watchers: (() => void)[] = [];

	const service: ScriptedService = {
		seen: [],
		queue: [],
		script: () => false,
		give(...jobs) {
			service.queue.push(...jobs.map((job) => (typeof job === "string" ? job : JSON.stringify(job))));
			serve();
		},
		stopJobs(...ids) {
			stops.push(...ids);
			serve();
		},
		release() {
			for (const { response } of openTakes) response.writeHead(204).end();
			for (const response of openStops) response.writeHead(204).end();
			openTakes = [];
			openStops = [];
		},
		until(matches, count = 1) {
			return new Promise((resolve) => {
				const look = () => {
					const found = service.seen.filter((one) => matches(one))[count - 1];
					if (!found) return;
					watchers = watchers.filter((other) => other !== look);
					resolve(found);
				};
				watchers.push(look);
				look();
			});
		},
		of: (route) => service.seen.filter((one) => one.route === route),
		openTakes: () => openTakes.length,
		results: () => service.of("job-done").map((one) => one.body),
		env(more = {}) {
			const base = `http://127.0.0.1:${port}/worker/ep`;
			return {
				RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID?gpu=none`,
				RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/$RUNPOD_POD_ID/$ID?gpu=none`,
				RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/$RUNPOD_POD_ID/$ID?gpu=none`,
				RUNPOD_WEBHOOK_PING: `${base}/ping/$RUNPOD_POD_ID?gpu=none`,
				RUNPOD_AI_API_KEY: "worker-key",
				RUNPOD_POD_ID: "w-1",
				RUNPOD_ENDPOINT_ID: "ep",
				RUNPOD_PING_INTERVAL: "1000",
				...more,
			};
		},
		down: () =>
			new Promise((resolve) => {
				openTakes = [];
				openStops = [];
				server.close(() => resolve());
				server.closeAllConnections();
			}),
		up: () => listen(),
	};

	function serve(): void {
		while (service.queue.length > 0 && openTakes.length > 0) {
			const { response, max } = openTakes.shift()!;
			const jobs = service.queue.splice(0, max);
			response.writeHead(200, { "content-type": "application/json" });
			response.end(max === 1 ? jobs[0] : `[${jobs.join(",")}]`);
		}
		if (stops.length === 0) return;
		const response = openStops.shift();
		response
			?.writeHead(200, { "content-type": "application/json" })
			.end(JSON.stringify({ jobsToStop: stops.splice(0) }));
	}

	function answer(seen: Seen, response: ServerResponse): void {
		service.seen.push(seen);
		if (service.script(seen, response) !== true) usual(seen, response);
		for (const look of watchers) look();
	}

	function usual(seen: Seen, response: ServerResponse): void {
		if (seen.route === "job-take" || seen.route === "job-take-batch") {
			const open = { response, max: Number(seen.query.batch_size ?? 1) };
			openTakes.push(open);
			response.on("close", () => {
				openTakes = openTakes.filter((one) => one !== open);
			});
			serve();
		} else if (seen.route === "job-stop") {
			openStops.push(response);
			response.on("close", () => {
				openStops = openStops.filter((one) => one !== response);
			});
			serve();
		} else response.writeHead(200, { "content-type": "application/json" }).end("{}");
	}

	async function listen(): Promise<void> {
		server = createServer((request, response) => {
			const chunks: Buffer[] = [];
			request.on("data", (chunk: Buffer) => chunks.push(chunk));
			request.on("end", () => {
				const url = new URL(request.url!, "http://service");
				const [, , , route = "", ...ids] = url.pathname.split("/").map(decodeURIComponent);
				const query = Object.fromEntries(url.searchParams);
				const body = Buffer.concat(chunks).toString("utf8");
				answer({ method: request.method!, route, ids, query, headers: request.headers, body }, response);
			});
		});
		await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
		port = (server.address() as AddressInfo).port;
	}

	await listen();
	return service;
}
