/** Requests of the benchmark of HTTP workers that `wrk` does not make: at a fixed rate, and of a size. */
import { Agent, request } from "node:http";
import { KEY } from "../processes.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

/** Resolves when the answer was read to its end. Rejects for another status than 200. */
export function post(url: string, body: string): Promise<void> {
	return new Promise((resolve, reject) => {
		const headers = {
			authorization: `Bearer ${KEY}`,
			"content-type": "application/json",
			"content-length": Buffer.byteLength(body),
		};
		const call = request(url, { method: "POST", agent, headers }, (answer) => {
			answer.resume().on("end", () => {
				if (answer.statusCode === 200) resolve();
				else reject(new Error(`HTTP ${answer.statusCode} of ${url}`));
			});
		});
		call.on("error", reject);
		call.end(body);
	});
}

/** Times from when each request was due to the end of its answer, ms: a late one counts as slow. */
export async function atRate(
	url: string,
	body: string,
	{ perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<{ p50: number; p99: number }> {
	const began = performance.now();
	const times: number[] = [];
	const count = Math.max(1, Math.round(perSecond * seconds));
	const all: Promise<void>[] = [];
	for (let number = 0; number < count; number += 1) {
		const due = began + (number * 1000) / perSecond;
		const early = due - performance.now();
		if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
		all.push(post(url, body).then(() => void times.push(performance.now() - due)));
	}
	await Promise.all(all);
	return percentiles(times);
}

/** Times of requests one after the other, ms. */
export async function oneByOne(url: string, body: string, count: number): Promise<{ p50: number; p99: number }> {
	const times: number[] = [];
	for (let number = 0; number < count; number += 1) {
		const began = performance.now();
		await post(url, body);
		times.push(performance.now() - began);
	}
	return percentiles(times);
}

function percentiles(times: readonly number[]): { p50: number; p99: number } {
	const sorted = times.toSorted((a, b) => a - b);
	const at = (part: number): number => Number(sorted[Math.floor((sorted.length - 1) * part)]!.toFixed(2));
	return { p50: at(0.5), p99: at(0.99) };
}
