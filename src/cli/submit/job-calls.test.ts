/** What `jobs submit --wait` and `jobs wait` learn of a job that waits (D36). */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../kernel/system/clock.ts";
import { jobCalls } from "./job-calls.ts";

let server: Server;
afterEach(() => void server.close());

/** Calls of a service that answers each path with these, one after the other. */
async function callsOf(
	answers: Record<string, [status: number, json: object, retryAfter?: string][]>,
	asked: string[] = [],
) {
	server = createServer(({ url = "" }, response) => {
		asked.push(url);
		const [status, json, after] = answers[url.split("?")[0]!]!.shift()!;
		response
			.writeHead(status, { "content-type": "application/json", ...(after && { "retry-after": after }) })
			.end(JSON.stringify(json));
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const clock = { ...systemClock, wall: () => Date.parse("2026-01-31T12:00:12.000Z") };
	return jobCalls({ connection: { base, key: "k", keyFrom: "test" } as never, endpoint: "ep", clock });
}

const STATUS = "/v2/ep/status-sync/j";
const RECORD = "/v1/endpoints/ep/jobs/j";
const reason = { code: "worker_starting", message: "Worker w is starting.", since: "2026-01-31T12:00:00.000Z" };

it("D36: while a job waits its reason is asked for, until it runs", async () => {
	const asked: string[] = [];
	const calls = await callsOf(
		{
			[STATUS]: [
				[200, { status: "IN_QUEUE" }],
				[200, { status: "IN_QUEUE" }],
				[200, { status: "IN_PROGRESS" }],
				[200, { status: "COMPLETED", output: 1 }],
			],
			[RECORD]: [
				[200, { reason }],
				[200, { reason, input: "x".repeat(200_000) }],
			],
		},
		asked,
	);
	const shown: (string | undefined)[] = [];
	expect(await calls.ended("j", (text) => shown.push(text))).toMatchObject({ status: "COMPLETED", output: "1" });
	expect(shown).toEqual([...Array(2).fill("Worker w is starting, for 12s."), undefined]);
	expect(asked.filter((url) => url.startsWith(STATUS)).map((url) => Number(url.split("=")[1]))).toEqual([
		2000, 2000, 15_000, 60_000,
	]);
});

it("D36: a refusal for hours ends the command at once", async () => {
	const calls = await callsOf({ "/v2/ep/run": [[429, { error: "Used up.", code: "gpu_quota_used" }, "3600"]] });
	await expect(calls.submit("{}", "key")).rejects.toThrow(/^Used up\.$/);
});

it("D36: a key that may not read the reason waits without it", async () => {
	const asked: string[] = [];
	const status: [number, object][] = [
		[200, { status: "IN_QUEUE" }],
		[200, { status: "COMPLETED" }],
	];
	const calls = await callsOf({ [STATUS]: status, [RECORD]: [[403, { code: "forbidden" }]] }, asked);
	const shown: (string | undefined)[] = [];
	expect((await calls.ended("j", (text) => shown.push(text))).status).toBe("COMPLETED");
	expect(shown).toEqual([undefined]);
	expect(asked.at(-1)).toBe(`${STATUS}?wait=60000`);
});
