/**
 * Sluice as its users have it: `sluice serve` processes on one database, a worker process attached
 * to each, `/runsync` over HTTP by `wrk`.
 */
import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../src/kernel/version.ts";
import { KEY, end, startService, startWorker } from "../processes.ts";
import { type Load, shoot } from "../wrk.ts";
import { type Contender, INPUT } from "./contender.ts";

/**
 * Starts so many servers. Callers are spread over them evenly; a job may run at a worker of any.
 */
export async function startSluice({
	url,
	servers,
	folder,
}: {
	url: string;
	servers: number;
	folder: string;
}): Promise<Contender> {
	const children: ChildProcess[] = [];
	const urls: string[] = [];
	const stop = async (): Promise<void> => {
		for (const child of children.toReversed()) await end(child);
	};
	try {
		for (let n = 0; n < servers; n += 1) {
			const place = join(folder, `server-${n}`);
			mkdirSync(place, { recursive: true });
			const service = await startService(place, { store: url });
			children.push(service.child);
			urls.push(service.url);
		}
		for (const each of urls) children.push(await startWorker(each));
	} catch (error) {
		await stop();
		throw error;
	}
	const body = JSON.stringify({ input: INPUT });
	const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
	return {
		version,
		async run({ seconds, inFlight }) {
			const loads = await Promise.all(
				urls.map((each) =>
					shoot({ url: `${each}/v2/noop/runsync`, body, headers }, { connections: inFlight / servers, seconds }),
				),
			);
			return together(loads, seconds);
		},
		stop,
	};
}

/**
 * Of several servers the rates are added; the median is the mean of theirs, the 99th percentile
 * that of the slowest.
 */
function together(loads: readonly Load[], seconds: number) {
	const refused = loads.reduce((sum, load) => sum + load.refused, 0);
	if (refused > 0) throw new Error(`${refused} jobs of Sluice were refused or not answered.`);
	const perSecond = loads.reduce((sum, load) => sum + load.perSecond, 0);
	const p50 = loads.reduce((sum, load) => sum + load.p50, 0) / loads.length;
	return {
		jobs: perSecond * seconds,
		perSecond,
		p50: Number(p50.toFixed(1)),
		p99: Number(Math.max(...loads.map((load) => load.p99)).toFixed(1)),
	};
}
