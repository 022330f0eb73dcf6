/** Renews leases even while a handler blocks the main thread (D16, protocol B.7). */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock as clock } from "../clock.ts";
import { readHeldTable } from "./held-table.ts";

export interface PingThreadData {
	/** Without `job_id` and `runpod_version`. */
	url: string;
	headers: Record<string, string>;
	intervalMs: number;
	version: string;
	table: SharedArrayBuffer;
	/** Ids that do not fit into the table. Each message to the thread replaces them. */
	overflow: string[];
}

const RETRY_MS = 1000;

if (parentPort) await pingForever(workerData as PingThreadData, parentPort);

async function pingForever(data: PingThreadData, parent: NonNullable<typeof parentPort>): Promise<never> {
	let overflow = data.overflow;
	parent.on("message", (ids: string[]) => {
		overflow = ids;
	});
	// Not by an import: that of `node:http` reads all its exports, for which Node loads undici, 70 ms in each worker.
	const { request, Agent } = data.url.startsWith("https:")
		? process.getBuiltinModule("node:https")
		: process.getBuiltinModule("node:http");
	const agent = new Agent({ keepAlive: true });
	parent.postMessage("ready");
	for (;;) {
		const began = clock.now();
		const done = await ping([...readHeldTable(data.table), ...overflow]);
		const wait = done ? data.intervalMs : Math.min(RETRY_MS, data.intervalMs);
		await clock.sleep(wait - (clock.now() - began));
	}

	/** False if the service is unreachable or overloaded. */
	function ping(ids: readonly string[]): Promise<boolean> {
		const query = [`runpod_version=${encodeURIComponent(data.version)}`];
		if (ids.length > 0) query.unshift(`job_id=${ids.map(encodeURIComponent).join("%2C")}`);
		const url = data.url + (data.url.includes("?") ? "&" : "?") + query.join("&");
		return new Promise((resolve) => {
			const signal = AbortSignal.timeout(2 * data.intervalMs);
			const call = request(url, { agent, headers: data.headers, signal }, (answer) => {
				const status = answer.statusCode ?? 0;
				answer.resume();
				answer.on("close", () => resolve(status !== 429 && status < 500));
			});
			call.on("error", () => resolve(false));
			call.end();
		});
	}
}
