/** What a bad batch gets (D57): an error when it is created, or one that failed with its lines. */
import { type OpenAI, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MODULES } from "../../../../src/modules/index.ts";
import { call, startService, type TestService } from "../../../support/service.ts";
import { keyWith } from "../../operator.ts";
import { clientOf } from "../files/files-client.ts";
import { line, PATH, REQUEST, run, uploaded } from "./batch-client.ts";

let service: TestService;
let client: OpenAI;
let input: string;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, other: {} } });
	client = clientOf(service, "ep");
	input = await uploaded(client, [line("a")]);
});
afterAll(() => service.end());

const post = (body: object, q: { endpoint?: string; key?: string } = {}) =>
	call(service.url, `/v2/${q.endpoint ?? "ep"}/openai/v1/batches`, { body, ...(q.key && { key: q.key }) });

describe("a request to create one", () => {
	it.each<[object, string, string]>([
		[{ input_file_id: undefined }, "input_file_id", "input_file_id is missing."],
		[{ input_file_id: 7 }, "input_file_id", "input_file_id must be a text."],
		[{ input_file_id: "file-unknown" }, "input_file_id", "There is no file 'file-unknown' on endpoint 'ep'"],
		[{ endpoint: null }, "endpoint", "endpoint is missing."],
		[{ endpoint: "https://x/v1/chat/completions" }, "endpoint", "such as /v1/chat/completions."],
		[{ endpoint: "/v1/../v1/chat" }, "endpoint", "such as /v1/chat/completions."],
		[{ endpoint: "/v1/batches" }, "endpoint", "/v1/batches is one of Sluice."],
		[{ completion_window: "8d" }, "completion_window", "from 1h to 7d."],
		[{ completion_window: "0h" }, "completion_window", "from 1h to 7d."],
		[{ completion_window: "soon" }, "completion_window", "from 1h to 7d."],
		[{ metadata: { a: 1 } }, "metadata.a", "must be a text of at most 512 characters."],
		[{ metadata: { ["n".repeat(65)]: "" } }, `metadata.${"n".repeat(64)}`, "has a name of over 64 characters."],
		[{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ""])) }, "metadata", "at most 16."],
		[{ metadata: [] }, "metadata", "must be an object of texts."],
		[{ output_expires_after: { anchor: "now", seconds: 3600 } }, "output_expires_after.anchor", "created_at."],
		[{ output_expires_after: { anchor: "created_at", seconds: 60 } }, "output_expires_after.seconds", "from 3600"],
	])("D57: %j is 400 and names %s", async (members, param, sentence) => {
		const { status, json } = await post({ ...REQUEST, input_file_id: input, ...members });
		expect(json.error.message).toContain(sentence);
		expect([status, json.error.param, json.error.type]).toEqual([400, param, "invalid_request_error"]);
	});

	it("D57: a body that is no object is 400, and one over 1 MB 413", async () => {
		expect((await post([])).json.error).toMatchObject({ code: "bad_json" });
		expect((await post({ ...REQUEST, pad: "x".repeat(1_100_000) })).status).toBe(413);
	});

	it("D57: a file for another purpose, or of another endpoint, is none", async () => {
		const file = await toFile(Buffer.from("x"), "x.txt");
		const { id } = await client.files.create({ file, purpose: "user_data" });
		expect((await post({ ...REQUEST, input_file_id: id })).json.error.message).toContain("is a file for user_data.");
		const elsewhere = await post({ ...REQUEST, input_file_id: input }, { endpoint: "other" });
		expect([elsewhere.status, elsewhere.json.error.code]).toEqual([400, "input_file_not_found"]);
	});

	it("D30, D57: an unknown endpoint is 404, and a key without write is refused", async () => {
		expect((await post({ ...REQUEST, input_file_id: input }, { endpoint: "none" })).status).toBe(404);
		const { key } = await keyWith(service, ["read"], ["ep"]);
		expect((await post({ ...REQUEST, input_file_id: input }, { key })).status).toBe(401);
		expect((await call(service.url, "/v2/ep/openai/v1/batches", { key })).status).toBe(200);
	});

	it("D57: a key of the repeat means one request", async () => {
		const headers = { "idempotency-key": "one" };
		const send = (window: string) =>
			call(service.url, "/v2/ep/openai/v1/batches", {
				body: { ...REQUEST, input_file_id: input, completion_window: window },
				headers,
			});
		const first = await send("24h");
		expect((await send("24h")).json.id).toBe(first.json.id);
		expect((await send("2d")).json.error.code).toBe("idempotency_reused");
	});

	it("D57: an unknown batch is 404, to see and to cancel", async () => {
		for (const path of ["batch_x", `batch_${"0".repeat(32)}`]) {
			const seen = await call(service.url, `/v2/ep/openai/v1/batches/${path}`);
			expect([seen.status, seen.json.error.code]).toEqual([404, "batch_not_found"]);
			expect((await call(service.url, `/v2/ep/openai/v1/batches/${path}/cancel`, { method: "POST" })).status).toBe(404);
		}
	});
});

describe("the lines of its file", () => {
	it("D57: each fault is listed with code, line and member", async () => {
		const lines = [
			"nonsense",
			"[]",
			JSON.stringify({ method: "POST", url: PATH, body: {} }),
			line("m", {}, { method: "GET" }),
			line("u", {}, { url: "/v1/embeddings" }),
			JSON.stringify({ custom_id: "b", method: "POST", url: PATH }),
			line("s", { stream: true }),
			line("ok"),
			line("ok"),
			line("x".repeat(513)),
			line("bg", { background: true }),
			`{"custom_id":"deep","method":"POST","url":"${PATH}","body":{"a":${"[".repeat(600)}${"]".repeat(600)}}}`,
		];
		const batch = await run(service, client, lines);
		expect(batch).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
		expect(batch.failed_at).toEqual(expect.any(Number));
		expect(batch.errors!.data!.map(({ code, line: at, param }) => [code, at, param])).toEqual([
			["invalid_json_line", 1, null],
			["invalid_json_line", 2, null],
			["invalid_request", 3, "custom_id"],
			["invalid_request", 4, "method"],
			["url_mismatch", 5, "url"],
			["invalid_request", 6, "body"],
			["invalid_request", 7, "body.stream"],
			["duplicate_custom_id", 9, "custom_id"],
			["invalid_request", 10, "custom_id"],
			["invalid_request", 11, "body.background"],
			["invalid_json_line", 12, null],
		]);
		expect(batch.errors!.data![7]!.message).toContain("line 8");
	});

	it("D57: at most 100 of them are listed", async () => {
		const batch = await run(
			service,
			client,
			Array.from({ length: 250 }, () => "{"),
		);
		expect([batch.status, batch.errors!.data!.length]).toEqual(["failed", 100]);
	});

	it("D57: an empty file is one fault", async () => {
		const batch = await run(service, client, ["", " "]);
		expect(batch.errors!.data).toEqual([{ code: "empty_file", line: null, message: expect.any(String), param: null }]);
	});

	it("D57: a line of more than 20 MiB is one fault, and the next line is read", async () => {
		const batch = await run(service, client, [line("a", { pad: "x".repeat(21 * 2 ** 20) }), line("b"), "{"]);
		expect(batch.errors!.data!.map(({ code, line: at }) => [code, at])).toEqual([
			["invalid_request", 1],
			["invalid_json_line", 3],
		]);
	});
});

it("D57: without the module files no batch can be created", async () => {
	const modules = MODULES.filter(({ name }) => name !== "files");
	const without = await startService({ endpoints: { ep: {} }, modules });
	try {
		const answer = await call(without.url, "/v2/ep/openai/v1/batches", { body: REQUEST });
		expect([answer.status, answer.json.error.code]).toEqual([501, "files_not_stored"]);
	} finally {
		await without.end();
	}
});
