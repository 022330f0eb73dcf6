/** Forms with files as clients send them, also bad ones (D56). */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { ON_POSTGRES } from "../../../support/service-store.ts";
import { untilFits } from "../../../support/until.ts";
import { contentOf, clientOf, sendForm } from "./files-client.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

const file = new File(["hello"], "a.txt", { type: "text/plain" });
const purpose = ["purpose", "user_data"] as const;

describe("a form with a file", () => {
	it("D56: its fields may have any order, and others mean nothing", async () => {
		for (const fields of [
			[purpose, ["file", file]],
			[["file", file], ["color", "red"], purpose],
		] as const)
			expect(await sendForm(service, fields)).toMatchObject({ status: 200, json: { bytes: 5, purpose: "user_data" } });
	});

	it.each([
		["no purpose", [["file", file]], "purpose", "missing_required_parameter", /Missing required parameter: 'purpose'/],
		["no file", [purpose], "file", "missing_required_parameter", /Missing required parameter: 'file'/],
		[
			"a purpose that nothing here serves",
			[
				["purpose", "fine-tune"],
				["file", file],
			],
			"purpose",
			"bad_request",
			/only/,
		],
		[
			"such a purpose after the file",
			[
				["file", file],
				["purpose", "evals"],
			],
			"purpose",
			"bad_request",
			/"evals"/,
		],
		[
			"a lifetime that is too short",
			[purpose, ["expires_after[anchor]", "created_at"], ["expires_after[seconds]", "3599"], ["file", file]],
			"expires_after[seconds]",
			"bad_request",
			/from 3600 to 2592000/,
		],
		[
			"a lifetime from another moment",
			[purpose, ["expires_after[anchor]", "now"], ["expires_after[seconds]", "3600"], ["file", file]],
			"expires_after[anchor]",
			"bad_request",
			/must be created_at/,
		],
		["a file in another field", [purpose, ["data", file]], "data", "bad_request", /only the field 'file'/],
	] as const)("D56: %s is 400 with the parameter, and stores nothing", async (_, fields, param, code, message) => {
		const before = (await call(service.url, "/v2/ep/openai/v1/files")).json.data.length;
		expect(await sendForm(service, fields)).toEqual({
			status: 400,
			json: { error: { message: expect.stringMatching(message), type: "invalid_request_error", param, code } },
		});
		expect((await call(service.url, "/v2/ep/openai/v1/files")).json.data).toHaveLength(before);
	});

	it("D56: a body that is no form is 400 with a sentence, as is one that ends early", async () => {
		const path = "/v2/ep/openai/v1/files";
		const json = await call(service.url, path, { body: { purpose: "batch" } });
		expect(json).toMatchObject({ status: 400, json: { error: { code: "bad_form" } } });
		expect(json.json.error.message).toContain("its Content-Type is not multipart/form-data");
		const cut = await call(service.url, path, {
			text: '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
			headers: { "content-type": "multipart/form-data; boundary=b" },
		});
		expect(cut).toMatchObject({ status: 400, json: { error: { code: "bad_form" } } });
	});

	it("D56: uploads in parts are 501 with a sentence, and the worker gets no job", async () => {
		for (const path of ["uploads", "uploads/upload_1/parts", "uploads/upload_1/complete"]) {
			const answer = await call(service.url, `/v2/ep/openai/v1/${path}`, { body: {} });
			expect(answer).toMatchObject({ status: 501, json: { error: { code: "uploads_not_supported" } } });
			expect(answer.json.error.message).toContain("POST /v2/ep/openai/v1/files");
		}
		expect((await call(service.url, "/v2/ep/health")).json.jobs.inQueue).toBe(0);
	});
});

describe("access", () => {
	it("D30, D56: read reads, write creates and deletes, and a key for another endpoint does neither", async () => {
		const keyFor = async (scopes: string[], endpoints?: string[]): Promise<string> =>
			(await call(service.url, "/v1/keys", { body: { name: "k", scopes, endpoints } })).json.key;
		const [read, write] = [await keyFor(["read"]), await keyFor(["write"])];
		const elsewhere = await keyFor(["write"], ["other"]);
		const fields = [purpose, ["file", file]] as const;
		for (const key of [read, elsewhere])
			expect(await sendForm(service, fields, { key })).toMatchObject({ status: 401 });
		const { json, status } = await sendForm(service, fields, { key: write });
		expect(status).toBe(200);
		expect(String(await contentOf(clientOf(service, "ep", read), json.id))).toBe("hello");
		const remove = async (key: string): Promise<number> =>
			(await call(service.url, `/v2/ep/openai/v1/files/${json.id}`, { method: "DELETE", key })).status;
		expect([await remove(read), await remove(elsewhere), await remove(write)]).toEqual([401, 401, 200]);
		for (const path of ["", `/${json.id}`, `/${json.id}/content`])
			expect((await call(service.url, `/v2/ep/openai/v1/files${path}`, { key: elsewhere })).status).toBe(401);
	});
});

describe("content", () => {
	it.each([
		["a.png", "image/png", "inline", "image/png"],
		["a.wav", "application/octet-stream", "inline", "audio/wav"],
		["a.mp4", "", "inline", "video/mp4"],
		["a.txt", "text/plain", "inline", "text/plain; charset=utf-8"],
		["a.svg", "image/svg+xml", "attachment", "image/svg+xml"],
		["a.html", "text/html", "attachment", "text/html; charset=utf-8"],
		["a.js", "text/javascript", "attachment", "text/javascript; charset=utf-8"],
		["a.pdf", "application/pdf", "attachment", "application/pdf"],
		["a.jsonl", "application/octet-stream", "attachment", "application/jsonl"],
		["a.bin", "not a type", "attachment", "application/octet-stream"],
	])("D56: %s of type '%s' is %s, and nothing in it can run", async (name, type, disposition, shown) => {
		const { json } = await sendForm(service, [purpose, ["file", new File(["<script>"], name, { type })]]);
		const path = `/v2/ep/openai/v1/files/${json.id}/content`;
		const { headers } = await fetch(service.url + path, { headers: { authorization: `Bearer ${KEY}` } });
		expect(headers.get("content-disposition")).toBe(`${disposition}; filename="${name}"; filename*=UTF-8''${name}`);
		expect(headers.get("content-type")).toBe(shown);
		expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
		expect(headers.get("x-content-type-options")).toBe("nosniff");
		expect(headers.get("cache-control")).toBe("private, no-store");
	});
});

it.skipIf(ON_POSTGRES)(
	"D41, D56: while the reserve of the disk is not free, uploads are 503 and reads go on",
	async () => {
		const low = await startService({ endpoints: { ep: {} }, settings: { budgets: { reservedDisk: 2 ** 49 } } });
		onTestFinished(() => low.end());
		const answer = await untilFits(
			() => sendForm(low, [purpose, ["file", file]]),
			({ status }) => status !== 200,
		);
		expect(answer).toMatchObject({ status: 503, json: { error: { code: "store_unavailable", type: "server_error" } } });
		expect(answer.json.error.message).toContain("are reserved for results");
		expect((await call(low.url, "/v2/ep/openai/v1/files")).status).toBe(200);
	},
);
