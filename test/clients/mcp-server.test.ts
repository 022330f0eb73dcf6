/**
 * RunPod's MCP server from npm, unmodified, as a process: its job tools against the service at `/v2`,
 * where it is known by its user agent (protocol A.7; D7).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { handWorker, type HandWorker } from "../spec/hand-worker.ts";
import { KEY, startService, type TestService } from "../support/service.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("@runpod/mcp-server"));

let service: TestService;
let worker: HandWorker;
let server: ChildProcess;
/** Requests without an answer, by id. */
const asked = new Map<number, (answer: any) => void>();
let lastId = 0;

function send(message: object): void {
	server.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function ask(method: string, params: object): Promise<any> {
	lastId += 1;
	send({ id: lastId, method, params });
	return new Promise((resolve) => asked.set(lastId, resolve));
}

/** Calls a tool for the endpoint; returns the JSON of its text. */
async function tool(name: string, q: object): Promise<any> {
	const { result } = await ask("tools/call", { name, arguments: { endpointId: "ep", ...q } });
	expect(result.isError ?? false, JSON.stringify(result)).toBe(false);
	return JSON.parse(result.content[0].text);
}

beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	worker = await handWorker(service, "ep");
	server = spawn(process.execPath, [PROGRAM], {
		// No address but the service's: nothing leaves the machine.
		env: {
			RUNPOD_API_KEY: KEY,
			RUNPOD_SERVERLESS_API_URL: `${service.url}/v2`,
			RUNPOD_API_BASE_URL: service.url,
			RUNPOD_AUTHED_GRAPHQL_URL: service.url,
			RUNPOD_PUBLIC_GRAPHQL_URL: service.url,
		},
		stdio: ["pipe", "pipe", "ignore"],
	});
	createInterface({ input: server.stdout! }).on("line", (line) => {
		const answer = JSON.parse(line);
		asked.get(answer.id)?.(answer);
		asked.delete(answer.id);
	});
	await ask("initialize", {
		protocolVersion: "2025-06-18",
		capabilities: {},
		clientInfo: { name: "test", version: "1" },
	});
	send({ method: "notifications/initialized" });
});
afterAll(async () => {
	server?.kill();
	await service?.end();
});

it("A.7, D7: stream-job collects the chunks of a job and ends with it", async () => {
	const { id } = await tool("run-endpoint", { input: { n: 1 } });
	await worker.takeThis(id);
	for (const output of ["a", "b"]) await worker.chunk(id, { output });
	const streamed = tool("stream-job", { jobId: id });
	await worker.done(id, { output: [] });
	expect(await streamed).toMatchObject({ status: "COMPLETED", stream: [{ output: "a" }, { output: "b" }] });
	expect(await tool("get-job-status", { jobId: id })).toMatchObject({ id, status: "COMPLETED" });
}, 20_000);

it("D1, D8: the other job tools", async () => {
	const { id } = await tool("run-endpoint", { input: {} });
	expect(await tool("endpoint-health", {})).toMatchObject({ jobs: { inQueue: 1 } });
	expect(await tool("cancel-job", { jobId: id })).toMatchObject({ id, status: "CANCELLED" });
	await tool("run-endpoint", { input: {} });
	expect(await tool("purge-endpoint-queue", {})).toMatchObject({ removed: 1 });
});
