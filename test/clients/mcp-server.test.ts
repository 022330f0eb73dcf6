/**
 * RunPod's MCP server from npm, unmodified, as a process: its job tools against the service at `/v2`,
 * where it is known by its user agent (protocol A.7; D7).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { handWorker, type HandWorker } from "../spec/hand-worker.ts";
import { startService, type TestService } from "../support/service.ts";
import { mcpServer, type McpServer } from "./mcp-process.ts";

let service: TestService;
let worker: HandWorker;
let server: McpServer;

/** Calls a tool for the endpoint; returns the JSON of its text. */
async function tool(name: string, q: object): Promise<any> {
	const { failed, json, text } = await server.call(name, { endpointId: "ep", ...q });
	expect(failed, text).toBe(false);
	return json;
}

beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	worker = await handWorker(service, "ep");
	server = await mcpServer(service.url);
});
afterAll(async () => {
	server?.end();
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
