/**
 * An endpoint and an SDK worker of its own for each test of a scripted client SDK. A test file calls
 * {@link useEndpoint} once.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { bench, type Bench } from "../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../support/sdk-protocol.ts";

export let b: Bench;
export let worker: SdkProtocol;
/** Clients, closed after each test. */
export const open: { close(): void }[] = [];

/** Starts their service for the tests of a file. */
export function useEndpoint(): void {
	beforeAll(async () => {
		b = await bench();
	});
	beforeEach(async () => {
		await b.fresh();
		worker = await b.worker();
	});
	afterEach(() => {
		for (const client of open.splice(0)) client.close();
	});
	afterAll(() => b?.end());
}
