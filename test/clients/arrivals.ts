/**
 * Requests as they arrive at the service in this process, and pauses of clients in which a test
 * does its next step.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Bench } from "../support/sdk-worker-bench.ts";
import type { Pause } from "./python.ts";

const CHANNEL = "http.server.request.start";

/** A request that arrived. */
export interface Arrival {
	/** Method, path and query, such as `GET /v2/ep/status/1`. */
	line: string;
	headers: IncomingHttpHeaders;
}

/**
 * Resolves when the next request that fits, or the n-th from now, has arrived and what it found in
 * the store is known: from then on it is answered or waits.
 */
export async function arrived({ service }: Bench, fits: RegExp, nth = 1): Promise<Arrival> {
	const { promise, resolve } = Promise.withResolvers<Arrival>();
	let left = nth;
	const stop = watch((arrival) => {
		if (fits.test(arrival.line) && (left -= 1) === 0) resolve(arrival);
	});
	const found = await promise.finally(stop);
	// The request's own look goes to the store first: when this one is back, that one was.
	await new Promise((done) => setImmediate(done));
	await service.engine.ready();
	await new Promise((done) => setImmediate(done));
	return found;
}

/** Collects what arrives for one endpoint until `stop` is called. */
export function arrivals(endpoint: string): { readonly list: readonly Arrival[]; stop(): void } {
	const list: Arrival[] = [];
	const stop = watch((arrival) => {
		if (arrival.line.includes(`/v2/${endpoint}/`)) list.push(arrival);
	});
	return { list, stop };
}

function watch(see: (arrival: Arrival) => void): () => void {
	const listener = (message: unknown): void => {
		const { method, url, headers } = (message as { request: IncomingMessage }).request;
		see({ line: `${method} ${url}`, headers });
	};
	subscribe(CHANNEL, listener);
	return () => void unsubscribe(CHANNEL, listener);
}

/**
 * Pauses of a client: instead of the n-th one the n-th step happens. One pause more than there are
 * steps is an error.
 */
export function stepping(...steps: (() => unknown)[]): {
	pause: Pause;
	readonly slept: readonly number[];
} {
	const slept: number[] = [];
	return {
		slept,
		async pause(ms) {
			const step = steps[slept.length];
			slept.push(ms);
			if (!step) throw new Error(`The client pauses more often than the ${steps.length} times it should.`);
			await step();
		},
	};
}

/** Everything a stream yields. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
	return await Array.fromAsync(stream);
}
