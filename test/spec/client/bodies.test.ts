/**
 * Section 2.3 to 2.5: what may be submitted. Every wrong body gets its error, and the service goes
 * on.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker } from "../hand-worker.ts";
import { rawConnection } from "../raw-http.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

interface Answer {
	status: number;
	text: string;
}

/** Posts bytes as they are. */
async function send(
	operation: "run" | "runsync",
	body: string | Uint8Array,
	headers: Record<string, string> = { "content-type": "application/json" },
): Promise<Answer> {
	const response = await fetch(`${service.url}/v2/ep/${operation}`, {
		method: "POST",
		headers: { authorization: KEY, ...headers },
		body: new Uint8Array(Buffer.from(body)),
	});
	return { status: response.status, text: await response.text() };
}

/** The answers of both operations to a body that is refused. */
function refused(body: string | Uint8Array, headers?: Record<string, string>): Promise<Answer[]> {
	return Promise.all([send("run", body, headers), send("runsync", body, headers)]);
}

/**
 * Checks that `/run` takes a body, and that `/runsync` does: its job ended by the caller that cancels
 * it.
 */
async function expectTaken(body: string | Uint8Array, headers?: Record<string, string>): Promise<void> {
	const queued = service.next("job.queued", ({ id }) => id.startsWith("sync-"));
	const [run, runsync] = [send("run", body, headers), send("runsync", body, headers)];
	const { id } = await Promise.race([queued, runsync.then(({ text }) => Promise.reject(new Error(text)))]);
	await call(service.url, `/v2/ep/cancel/${id}`, { method: "POST" });
	for (const answer of await Promise.all([run, runsync])) expect(answer.status, answer.text).toBe(200);
}

const nested = (depth: number): string => `{"input":${'{"a":'.repeat(depth - 2)}{}${"}".repeat(depth - 2)}}`;
const bytes = (...parts: (string | number)[]): Uint8Array =>
	Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.of(part))));

afterEach(async () => {
	expect((await call(service.url, "/v2/ep/run", { body: { input: { after: "a bad one" } } })).status).toBe(200);
});

describe("the body as JSON", () => {
	it.each<[string, string | Uint8Array, RegExp]>([
		["empty", "", /found nothing/],
		["white space", " \n", /found nothing/],
		["not JSON", "input=1", /byte 0/],
		["cut off", '{"input":{"a":1', /cut off/],
		["followed by more", '{"input":{}} x', /byte 13/],
		["an array", '[{"input":{}}]', /an array/],
		["a string", '"input"', /a string/],
		["null", "null", /null/],
		["after two byte order marks", "\ufeff\ufeff" + '{"input":{}}', /byte order mark/],
		["with NaN", '{"input":{"a":NaN}}', /NaN/],
		["with -Infinity", '{"input":{"a":-Infinity}}', /-Infinity/],
		["with single quotes", "{'input':{}}", /byte 1/],
		["with a comma too many", '{"input":{},}', /byte 12/],
		["with a leading zero", '{"input":{"a":01}}', /byte 15/],
		["with a raw line end in a string", '{"input":{"a":"\n"}}', /control character/],
		["with a byte that is not UTF-8", bytes('{"input":{"a":"', 0xff, '"}}'), /UTF-8/],
		["with an overlong character", bytes('{"input":{"a":"', 0xc0, 0xaf, '"}}'), /UTF-8/],
		["with a surrogate as UTF-8", bytes('{"input":{"a":"', 0xed, 0xa0, 0x80, '"}}'), /UTF-8/],
		["in UTF-16", Buffer.from('{"input":{}}', "utf16le"), /byte 1/],
		["nested 501 deep", nested(501), /nested more than 500/],
		["nested 100,000 deep", '{"input":'.padEnd(100_000, "["), /nested more than 500/],
		["with an integer of 4001 digits", `{"input":{"a":${"9".repeat(4001)}}}`, /4001 digits.*4000/],
		["with a negative integer of 4001 digits", `{"input":{"a":-${"9".repeat(4001)}}}`, /4001 digits/],
	])("D4: a body that is or comes %s is 400", async (_, body, sentence) => {
		for (const answer of await refused(body)) expect(expectError(answer, 400, "bad_json").error).toMatch(sentence);
	});

	it.each([
		["nested 500 deep", nested(500)],
		["with an integer of 4000 digits", `{"input":{"a":${"9".repeat(4000)}}}`],
		["with a fraction of 5000 digits", `{"input":{"a":0.${"9".repeat(5000)}}}`],
		["with unknown members", '{"input":{},"id":7,"status":"x","timeout":{"a":[null]},"":1}'],
		[
			"with __proto__ beside and inside the input",
			'{"__proto__":{"webhook":"x"},"input":{"__proto__":{"a":1},"constructor":2}}',
		],
		["with white space around", ' \r\n\t{"input" : { } } \n'],
		["with an escaped member name", '{"\\u0069nput":{}}'],
	])("D4: a body %s is taken", async (_, body) => {
		await expectTaken(body);
	});

	it("D4: the last of duplicate members counts, as everywhere", async () => {
		for (const answer of await refused('{"input":{},"input":[]}')) expectError(answer, 400, "bad_request", ["input"]);
		await expectTaken('{"input":[],"webhook":"","input":{},"webhook":null}');
	});

	it.each([
		"application/x-www-form-urlencoded",
		"text/plain",
		"text/plain; charset=utf-8",
		"application/json; charset=utf-8",
		"application/octet-stream",
		"multipart/form-data",
	])("D4: JSON sent as %s is read as JSON", async (type) => {
		await expectTaken('{"input":{}}', { "content-type": type });
	});

	it("D4: a body that does not parse names its content type unless that was JSON", async () => {
		for (const answer of await refused("a=1", {
			"content-type": "application/x-www-form-urlencoded",
		}))
			expect(expectError(answer, 400, "bad_json").error).toContain("application/x-www-form-urlencoded");
		for (const answer of await refused("a=1", { "content-type": "text/plain" }))
			expect(expectError(answer, 400, "bad_json").error).toContain("text/plain");
		for (const answer of await refused("a=1", { "content-type": "application/json" }))
			expect(expectError(answer, 400, "bad_json").error).not.toContain("Content-Type");
	});

	it("D4: no content type at all is fine", async () => {
		const connection = await rawConnection(service.url);
		const write = (body: string): void =>
			connection.write(
				`POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nAuthorization: ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
			);
		write('{"input":{}}');
		expect((await connection.answer()).status).toBe(200);
		write("nonsense");
		expectError(await connection.answer(), 400, "bad_json");
		connection.socket.destroy();
	});

	it("D4: a POST that announces no body at all is answered, on /run with 400", async () => {
		const worker = await handWorker(service, "ep");
		const connection = await rawConnection(service.url);
		const write = (path: string, authorization: string): void =>
			connection.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`);
		for (const operation of ["run", "runsync"]) {
			write(`/v2/ep/${operation}`, KEY);
			expectError(await connection.answer(), 400, "bad_json");
		}
		write("/v2/ep/purge-queue", KEY);
		expect((await connection.answer()).status).toBe(200);
		write(`/worker/ep/job-done/${worker.id}/x?isStream=false`, worker.token);
		expect((await connection.answer()).status).toBe(200);
		connection.socket.destroy();
	});

	it("D3: after a bad body the same connection serves the next request", async () => {
		const connection = await rawConnection(service.url);
		const write = (body: string): void =>
			connection.write(
				`POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nAuthorization: ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
			);
		for (let round = 0; round < 3; round += 1) {
			write('{"input":');
			write('{"input":[]}');
			write('{"input":{}}');
			expectError(await connection.answer(), 400, "bad_json");
			expectError(await connection.answer(), 400, "bad_request", ["input"]);
			expect((await connection.answer()).status).toBe(200);
		}
		connection.socket.destroy();
	});
});

describe("the members of the body", () => {
	it.each<[string, unknown, string[]]>([
		["no input", {}, ["input"]],
		["input null", { input: null }, ["input"]],
		["input an array", { input: [] }, ["input"]],
		["input a string", { input: "x" }, ["input"]],
		["input a number", { input: 0 }, ["input"]],
		["input false", { input: false }, ["input"]],
		["input under another case", { Input: {} }, ["input"]],
		["webhook empty", { input: {}, webhook: "" }, ["webhook"]],
		["webhook not a URL", { input: {}, webhook: "somewhere" }, ["webhook"]],
		["webhook ftp", { input: {}, webhook: "ftp://a.test/x" }, ["webhook"]],
		["webhook a number", { input: {}, webhook: 7 }, ["webhook"]],
		["executionTimeout 5000", { input: {}, policy: { executionTimeout: 5000 } }, ["policy.executionTimeout"]],
		[
			"executionTimeout with a fraction",
			{ input: {}, policy: { executionTimeout: 5001.5 } },
			["policy.executionTimeout"],
		],
		["executionTimeout as text", { input: {}, policy: { executionTimeout: "6000" } }, ["policy.executionTimeout"]],
		["ttl 9999", { input: {}, policy: { ttl: 9999 } }, ["policy.ttl"]],
		["ttl over a week", { input: {}, policy: { ttl: 604_800_001 } }, ["policy.ttl"]],
		["lowPriority as text", { input: {}, policy: { lowPriority: "yes" } }, ["policy.lowPriority"]],
		["policy an array", { input: {}, policy: [] }, ["policy"]],
		["s3Config text", { input: {}, s3Config: "s3://x" }, ["s3Config"]],
		[
			"members of s3Config",
			{ input: {}, s3Config: { accessId: 1, bucketName: {} } },
			["s3Config.accessId", "s3Config.bucketName"],
		],
		[
			"all at once",
			{ webhook: "", policy: { ttl: 0, executionTimeout: 0 }, s3Config: [] },
			["input", "webhook", "policy.executionTimeout", "policy.ttl", "s3Config"],
		],
	])("D2: %s is 400, and details name the field", async (_, body, fields) => {
		for (const answer of await refused(JSON.stringify(body))) expectError(answer, 400, "bad_request", fields);
	});

	it.each<[string, object]>([
		["the lowest bounds", { policy: { executionTimeout: 5001, ttl: 10_000, lowPriority: false } }],
		[
			"the highest bounds",
			{
				policy: { executionTimeout: Number.MAX_SAFE_INTEGER, ttl: 604_800_000, lowPriority: true },
			},
		],
		["null for every optional member", { webhook: null, policy: null, s3Config: null }],
		[
			"null in policy and s3Config",
			{
				policy: { executionTimeout: null, ttl: null, lowPriority: null },
				s3Config: { accessId: null },
			},
		],
		[
			"a whole submission",
			{
				webhook: "https://a.test/hook?x=1",
				policy: {},
				s3Config: {
					accessId: "a",
					accessSecret: "b",
					bucketName: "c",
					endpointUrl: "https://s3.test",
				},
			},
		],
	])("spec 2.3: %s is taken", async (_, members) => {
		await expectTaken(JSON.stringify({ input: {}, ...members }));
	});
});

describe("the input on its way", () => {
	it("D5: input and output pass through byte for byte", async () => {
		const own = await startService({ endpoints: { ep: {} } });
		try {
			const worker = await handWorker(own, "ep");
			const input = '{ "b":1.0, "a":12345678901234567890123, "a":"\\u00e9é\\/😀", "__proto__":{"x":-0.0e+1}, "":[ ] }';
			const { json } = await call(own.url, "/v2/ep/run", {
				text: `{"policy":{},"input" : ${input} }`,
			});
			expect((await worker.takeThis(json.id)).text).toBe(`{"id":"${json.id}","input":${input}}`);
			await worker.done(json.id, `{"output": ${input} }`);
			expect((await call(own.url, `/v2/ep/status/${json.id}`)).text).toContain(`"output":${input},`);
		} finally {
			await own.end();
		}
	});
});

describe("members without effect", () => {
	const headerOf = async (operation: "run" | "runsync", body: string): Promise<string | null> => {
		const response = await fetch(`${service.url}/v2/ep/${operation}?wait=1000`, {
			method: "POST",
			headers: { authorization: KEY },
			body,
		});
		expect(response.status).toBe(200);
		await response.text();
		return response.headers.get("sluice-ignored");
	};

	it("D4: Sluice-Ignored names them, also those of policy, in an answer to /run and /runsync", async () => {
		const queued = service.next("job.queued", () => true);
		const body = '{"input":{"x":1},"webhok":"http://a","policy":{"ttl":10000,"lowPrio":true}}';
		expect(await headerOf("run", body)).toBe("webhok, policy.lowPrio");
		expect((await queued).ignored).toEqual(["webhok", "policy.lowPrio"]);
		expect(await headerOf("runsync", body)).toBe("webhok, policy.lowPrio");
		expect(await headerOf("run", '{"input":{"webhok":1},"policy":{"lowPriority":true}}')).toBe(null);
	});

	it("D4: at most 8 of 40 characters, in printable ASCII, so that no name adds a header", async () => {
		const long = "y".repeat(200);
		const body = JSON.stringify({
			input: {},
			"a\r\nSet-Cookie: b": 1,
			[long]: 1,
			...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`m${n}`, 1])),
			policy: { [long]: 1 },
		});
		expect(await headerOf("run", body)).toBe(
			`a\\r\\nSet-Cookie:?b, ${"y".repeat(40)}, ${[0, 1, 2, 3, 4, 5].map((n) => `m${n}`).join(", ")}`,
		);
		expect(await headerOf("run", JSON.stringify({ input: {}, policy: { [long]: 1, "ü,": 1 } }))).toBe(
			`policy.${"y".repeat(33)}, policy.??`,
		);
	});
});
