/** A key that may only read changes nothing of a job, whatever the query (D7, D9, D30). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../../src/modules/tables.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, type HandWorker, submitted } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

let service: TestService;
let worker: HandWorker;
let keys: Record<"read" | "write", string>;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: { limits: "off" } } });
	worker = await handWorker(service, "ep");
	keys = {
		read: (await keyWith(service, ["read"])).key,
		write: (await keyWith(service, ["write"])).key,
	};
});
afterAll(() => service?.end());

const CHUNKS = [
	{ output: "a", metrics: {} },
	{ output: "b", metrics: {} },
];

/** A job that has ended, with two undelivered chunks. */
async function ended(): Promise<string> {
	const id = await submitted(service, "ep");
	await worker.takeThis(id);
	for (const { output } of CHUNKS) await worker.chunk(id, { output });
	await worker.done(id, { output: 1 });
	return id;
}

const READS = ROUTES.filter(
	({ access, path }) => access === "read" && path.includes(":endpoint") && !path.startsWith("/v1/feed"),
).flatMap(({ methods, path, query = [] }) =>
	methods.flatMap((method) =>
		["", ...query.map(({ name }) => `?${name}=0`)].map((search) => [method, path + search] as const),
	),
);

describe("a key with the scope read", () => {
	it.each(READS)("D30: %s %s leaves the job, its result and its cursor as they are", async (method, path) => {
		const id = await ended();
		const record = (): Promise<unknown> => operator(service).seen(`/endpoints/ep/jobs/${id}`);
		const before = await record();
		const filled = path.replace(":endpoint", "ep").replace(":job", id);
		await call(service.url, filled, { method, key: keys.read });
		expect(await record()).toEqual(before);
		expect((await call(service.url, `/v2/ep/status/${id}`)).json).toMatchObject({ output: 1 });
	});

	it("D9, D30: /status?ttl= is 401 and names the scope; with write it shortens the retention", async () => {
		const id = await ended();
		for (const method of ["GET", "POST"]) {
			const answer = await call(service.url, `/v2/ep/status/${id}?ttl=0`, {
				method,
				key: keys.read,
			});
			expect(expectError(answer, 401, "unauthorized").error).toContain("the scope write; the one sent has read.");
		}
		const last = await call(service.url, `/v2/ep/status/${id}?ttl=0`, { key: keys.write });
		expect(last.json).toMatchObject({ output: 1 });
		expectError(await call(service.url, `/v2/ep/status/${id}`), 404, "job_not_found");
	});

	it("D7, D30: reads a stream from its first chunk, as with offset=0; the chunks remain for others", async () => {
		const id = await ended();
		for (let turn = 0; turn < 2; turn += 1) {
			const answer = await call(service.url, `/v2/ep/stream/${id}`, { key: keys.read });
			expect(answer.json).toEqual(CHUNKS);
			expect(answer.headers.get("sluice-next-offset")).toBe("2");
		}
		const sdk = await call(service.url, `/sdk/v2/ep/stream/${id}`, { key: keys.read });
		expect(sdk.json).toEqual({ status: "COMPLETED", stream: CHUNKS });
		expect((await call(service.url, `/v2/ep/stream/${id}`, { key: keys.write })).json).toEqual(CHUNKS);
		expect((await call(service.url, `/v2/ep/stream/${id}`, { key: keys.write })).json).toEqual([]);
	});
});
