/**
 * The script of the synchronous Python SDK repeats requests as urllib3 does for it (protocol
 * A.2, A.10).
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { manualClock } from "../support/manual-clock.ts";
import { stepping } from "./arrivals.ts";
import { type PythonEndpoint, pythonSync } from "./python-sync-client.ts";

/**
 * A client of a server that answers with these statuses, one after another; with `Retry-After`
 * where a second number stands. 0 cuts the connection.
 */
async function clientOf(
	script: [status: number, retryAfter?: number][],
	pauses: number,
): Promise<PythonEndpoint & { slept: readonly number[]; end(): void }> {
	const answers = [...script];
	const server = createServer((req, res) => {
		const [status, retryAfter] = answers.shift()!;
		if (status === 0) return void req.socket.destroy();
		res
			.writeHead(status, {
				"content-type": "application/json",
				...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
			})
			.end('{"status":"COMPLETED","output":1}');
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { pause, slept } = stepping(...times(pauses, () => {}));
	const client = pythonSync({
		base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sdk/v2`,
		endpoint: "ep",
		key: "k",
		clock: manualClock(),
		pause,
	});
	return {
		...client,
		slept,
		end() {
			client.close();
			server.closeAllConnections();
			server.close();
		},
	};
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe("retries", () => {
	it.each<[string, [number, number?][], number[], unknown]>([
		["429 without end", times(6, [429]), [2000, 4000, 8000, 16_000], { name: "RetryError" }],
		["408 twice", [[408], [408], [200]], [2000], 1],
		["429 with Retry-After", [[429, 7], [429, 3], [200]], [7000, 3000], 1],
		["503 with Retry-After", [[503, 2], [200]], [2000], 1],
		["503 with Retry-After without end", times(6, [503, 2]), times(5, 2000), { name: "HTTPError" }],
		["503 without", [[503]], [], { name: "HTTPError" }],
		["404", [[404]], [], { name: "HTTPError" }],
		["a cut connection", [[0], [0], [200]], [2000], 1],
	])("A.2, A.10: GET, %s", async (_, script, slept, wanted) => {
		const endpoint = await clientOf(script, slept.length);
		try {
			const output = endpoint.job("1").output();
			if (wanted === 1) expect(await output).toBe(1);
			else await expect(output).rejects.toMatchObject(wanted as object);
		} finally {
			endpoint.end();
		}
		expect(endpoint.slept).toEqual(slept);
		expect(endpoint.sent).toHaveLength(script.length);
	});

	it.each<[number, number, string]>([
		[429, 1, "HTTPError"],
		[503, 1, "HTTPError"],
		[0, 0, "ConnectionError"],
	])("A.2: POST, %d is not repeated", async (status, retryAfter, name) => {
		const endpoint = await clientOf([[status, retryAfter]], 0);
		try {
			await expect(endpoint.run({ p: 1 })).rejects.toMatchObject({ name });
		} finally {
			endpoint.end();
		}
		expect(endpoint.sent).toHaveLength(1);
	});
});
