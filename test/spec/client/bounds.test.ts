/**
 * Every bound of a submission and of what follows from it, in one table: just inside passes, just
 * outside is refused and says which field and which bound. Rates are in `rates`, sizes of bodies
 * in `limits`.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError, handWorker, submitted } from "../hand-worker.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	const rates = { run: "off", runsync: "off", requests: "off" };
	const limits = Object.fromEntries(Object.keys(rates).map((name) => [name, { per10s: "off", concurrent: "off" }]));
	service = await startService({
		endpoints: {
			ep: { limits: { ...limits, queue: "off" } },
			zero: { workersMax: 0, limits },
			one: { workersMax: 1, limits },
		},
		clock,
	});
});
afterAll(() => endWith(service, clock));

type Bound = [rule: string, field: string, inside: unknown[], outside: unknown[]];

const POLICY: Bound[] = [
	[
		"spec 2.4, D15",
		"executionTimeout",
		[5001, 600_000, Number.MAX_SAFE_INTEGER],
		[5000, 0, -1, 5001.5, 2 ** 53, "6000"],
	],
	["spec 2.4, D15", "ttl", [10_000, 604_800_000], [9999, 604_800_001, 0, 10_000.5, "20000"]],
	["spec 2.4", "lowPriority", [true, false], [0, 1, "true"]],
];

describe.each(POLICY)("%s: policy.%s", (_, field, inside, outside) => {
	it.each(inside)("spec 2.4: %s is taken", async (value) => {
		await submitted(service, "ep", { input: {}, policy: { [field]: value } });
	});

	it.each(outside)("spec 2.4: %s is 400 with the field named", async (value) => {
		const body = expectError(
			await call(service.url, "/v2/ep/run", { body: { input: {}, policy: { [field]: value } } }),
			400,
			"bad_request",
			[`policy.${field}`],
		);
		expect(body.error).toMatch(
			field === "lowPriority" ? /true or false/ : field === "ttl" ? /10000 to 604800000/ : /5000|5001/,
		);
	});
});

const DEPTH = (levels: number): string => `{"input":${'{"a":'.repeat(levels - 2)}{}${"}".repeat(levels - 2)}}`;
/** A submission with a member of so many bytes. */
const SETTING = (name: string, bytes: number): string =>
	`{"input":{},"${name}":{"more":"${"x".repeat(bytes - '{"more":""}'.length)}"}}`;
const TEXTS: [rule: string, what: string, inside: string, outside: string, code: string][] = [
	["D4", "nesting of 500", DEPTH(500), DEPTH(501), "bad_json"],
	[
		"D4",
		"an integer of 4,000 digits",
		`{"input":{"a":${"1".repeat(4000)}}}`,
		`{"input":{"a":${"1".repeat(4001)}}}`,
		"bad_json",
	],
	[
		"D4",
		"a webhook of 8,192 characters",
		JSON.stringify({ input: {}, webhook: "https://a.test/".padEnd(8192, "x") }),
		JSON.stringify({ input: {}, webhook: "https://a.test/".padEnd(8193, "x") }),
		"bad_request",
	],
	["D4", "a policy of 65,536 bytes", SETTING("policy", 65_536), SETTING("policy", 65_537), "bad_request"],
	["D4, D22", "an s3Config of 65,536 bytes", SETTING("s3Config", 65_536), SETTING("s3Config", 65_537), "bad_request"],
];

describe.each(TEXTS)("%s", (_, what, inside, outside, code) => {
	it(`D4: ${what}: just inside is taken, just outside is 400`, async () => {
		expect((await call(service.url, "/v2/ep/run", { text: inside })).status).toBe(200);
		expectError(await call(service.url, "/v2/ep/run", { text: outside }), 400, code);
	});
});

const QUEUES: [endpoint: string, workersMax: number, taken: number][] = [
	["zero", 0, 51],
	["one", 1, 501],
];

it.each(QUEUES)(
	"spec 8.2, D23: on %s with workersMax %d the queue takes %d jobs, and one more is 429",
	async (endpoint, _, taken) => {
		for (let sent = 0; sent < taken; sent += 1) await submitted(service, endpoint);
		const body = expectError(
			await call(service.url, `/v2/${endpoint}/run`, { body: { input: {} } }),
			429,
			"queue_full",
		);
		expect(body.error).toContain(String(taken - 1));
	},
);

it.each([
	[1_000_000, 1],
	[1_000_001, 2],
])("spec 2.7, D7: an output of %d bytes is streamed as %d chunk(s)", async (bytes, chunks) => {
	const endpoint = "ep";
	const worker = await handWorker(service, endpoint);
	await call(service.url, `/v2/${endpoint}/purge-queue`, { method: "POST" });
	const id = await submitted(service, endpoint);
	await worker.takeThis(id);
	await worker.chunk(id, `{"output":"${"x".repeat(bytes - 2)}"}`);
	const answer = await call(service.url, `/v2/${endpoint}/stream/${id}?offset=0`);
	expect(answer.json).toHaveLength(chunks);
	expect(answer.json.map(({ output }: { output: string }) => output).join("")).toHaveLength(bytes - 2);
	await worker.done(id, {});
});
