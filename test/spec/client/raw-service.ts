/**
 * A service that is sent raw bytes, and answers other calls after each test. A test file calls
 * {@link useRawService} once.
 */
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { submitted } from "../hand-worker.ts";
import { type RawAnswer, rawConnection } from "../raw-http.ts";

export let service: TestService;
export let job: string;

/** Starts it for the tests of a file. */
export function useRawService(): void {
	beforeAll(async () => {
		service = await startService({ endpoints: { ep: {} } });
		job = await submitted(service, "ep");
	});
	afterAll(() => service.end());
	afterEach(async () => {
		expect((await call(service.url, "/v2/ep/health")).status).toBe(200);
	});
}

export const AUTH = { Authorization: `Bearer ${KEY}` };

/** Sends bytes on a connection of their own, and answers the first answer. */
export async function raw(bytes: string | Uint8Array, head = false): Promise<RawAnswer> {
	const connection = await rawConnection(service.url);
	connection.write(bytes);
	try {
		return await connection.answer({ head });
	} finally {
		connection.socket.destroy();
	}
}
