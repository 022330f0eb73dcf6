/** OpenAI's files (D56) with the official client. */
import { randomBytes } from "node:crypto";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenAI, NotFoundError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { clientOf, contentOf } from "./files-client.ts";

let service: TestService;
let client: OpenAI;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, other: {}, listed: {} } });
	client = clientOf(service, "ep");
});
afterAll(() => service.end());

const LARGE = randomBytes(3 * 2 ** 20 + 17);

describe("a file", () => {
	it("D56: is stored from a buffer and from a stream, and its content is returned byte for byte", async () => {
		const path = join(service.folder.path, "large.bin");
		writeFileSync(path, LARGE);
		const seconds = Math.floor(Date.now() / 1000);
		const given = [await toFile(LARGE, "large.bin"), createReadStream(path)];
		for (const file of given) {
			const made = await client.files.create({ file, purpose: "user_data" });
			expect(made).toEqual({
				id: expect.stringMatching(/^file-[0-9a-f]{32}$/),
				object: "file",
				bytes: LARGE.length,
				created_at: expect.any(Number),
				filename: "large.bin",
				purpose: "user_data",
				status: "processed",
				status_details: null,
			});
			expect(made.created_at - seconds).toBeLessThan(60);
			expect(await client.files.retrieve(made.id)).toEqual(made);
			expect(await client.files.waitForProcessing(made.id)).toEqual(made);
			expect((await contentOf(client, made.id)).equals(LARGE)).toBe(true);
		}
	});

	it("D56: may be empty, and has the name that the client gave it, without controls", async () => {
		const names = ["ü 'x' \"q\".txt", "a%b.txt", "日本.jsonl", "line\u0007.txt"];
		for (const name of names) {
			const made = await client.files.create({ file: await toFile(Buffer.alloc(0), name), purpose: "vision" });
			expect(made).toMatchObject({ filename: name.replace("\u0007", "\ufffd"), bytes: 0 });
			expect((await contentOf(client, made.id)).length).toBe(0);
		}
	});

	it("D56: one for batches expires after 30 days, another when the client says so, else never", async () => {
		const lifetime = async (more: object): Promise<number | undefined> => {
			const file = await toFile(Buffer.from("{}"), "a.jsonl");
			const { expires_at: until, created_at: from } = await client.files.create({ file, purpose: "batch", ...more });
			return until === undefined ? undefined : until - from;
		};
		expect(await lifetime({})).toBe(30 * 86_400);
		expect(await lifetime({ purpose: "vision" })).toBeUndefined();
		expect(await lifetime({ expires_after: { anchor: "created_at", seconds: 3600 } })).toBe(3600);
	});

	it("D56: is missing once it is deleted, with its content, and belongs to its endpoint", async () => {
		const { id } = await client.files.create({ file: await toFile(LARGE, "a"), purpose: "user_data" });
		const other = clientOf(service, "other");
		const uses = ({ files }: OpenAI) => [() => files.retrieve(id), () => files.content(id), () => files.delete(id)];
		for (const use of uses(other)) await expect(use()).rejects.toThrow(NotFoundError);
		expect(await client.files.delete(id)).toEqual({ id, object: "file", deleted: true });
		for (const use of uses(client))
			await expect(use()).rejects.toMatchObject({
				status: 404,
				code: "file_not_found",
				type: "invalid_request_error",
				message: expect.stringContaining(`There is no file '${id}' on endpoint 'ep'`),
			});
	});
});

describe("a list", () => {
	it("D56: has pages that the client follows, in both orders, by purpose, while it deletes them", async () => {
		const listed = clientOf(service, "listed");
		const all: string[] = [];
		for (let n = 0; n < 5; n += 1) {
			const purpose = n % 2 === 0 ? "batch" : "vision";
			all.push((await listed.files.create({ file: await toFile(Buffer.from("x"), `${n}`), purpose })).id);
		}
		const ids = async (query: object): Promise<string[]> =>
			(await Array.fromAsync(listed.files.list(query))).map(({ id }) => id);
		expect(await ids({ limit: 2 })).toEqual(all.toReversed());
		expect(await ids({ limit: 2, order: "asc" })).toEqual(all);
		expect(await ids({ purpose: "vision" })).toEqual([all[3], all[1]]);
		expect((await call(service.url, "/v2/listed/openai/v1/files?limit=2&order=asc")).json).toMatchObject({
			object: "list",
			first_id: all[0],
			last_id: all[1],
			has_more: true,
		});
		for await (const { id } of listed.files.list({ limit: 2 })) await listed.files.delete(id);
		expect((await call(service.url, "/v2/listed/openai/v1/files")).json).toEqual({
			object: "list",
			data: [],
			first_id: null,
			last_id: null,
			has_more: false,
		});
	});

	it("D56: a limit and an order out of their bounds are 400 with the parameter", async () => {
		for (const [query, param] of [
			["limit=0", "limit"],
			["limit=10001", "limit"],
			["order=up", "order"],
		] as const)
			expect(await call(service.url, `/v2/ep/openai/v1/files?${query}`)).toMatchObject({
				status: 400,
				json: { error: { param, type: "invalid_request_error" } },
			});
	});
});

describe("a range", () => {
	it.each([
		["bytes=0-0", 0, 1],
		["bytes=0-", 0, LARGE.length],
		["bytes=5-", 5, LARGE.length],
		["bytes=-7", LARGE.length - 7, LARGE.length],
		["bytes=1048570-1048590", 1_048_570, 1_048_591],
		["bytes=10-99999999999", 10, LARGE.length],
	])("D56: %s is those bytes", async (range, start, end) => {
		const { id } = await client.files.create({ file: await toFile(LARGE, "a.mp4"), purpose: "user_data" });
		const answer = await client.files.content(id, { headers: { Range: range } });
		expect(answer.status).toBe(206);
		expect(answer.headers.get("content-range")).toBe(`bytes ${start}-${end - 1}/${LARGE.length}`);
		expect(Buffer.from(await answer.arrayBuffer()).equals(LARGE.subarray(start, end))).toBe(true);
	});

	it("D56: one behind the end is 416; several, and one in another form, are the whole file", async () => {
		const { id } = await client.files.create({ file: await toFile(Buffer.from("12345"), "a"), purpose: "vision" });
		const path = `/v2/ep/openai/v1/files/${id}/content`;
		const ask = (range: string): Promise<Response> =>
			fetch(service.url + path, { headers: { authorization: `Bearer ${KEY}`, range } });
		const refused = await ask("bytes=5-");
		expect([refused.status, refused.headers.get("content-range")]).toEqual([416, "bytes */5"]);
		expect(await refused.json()).toMatchObject({ error: { code: "range_not_satisfiable" } });
		for (const range of ["bytes=0-1,3-4", "lines=0-1", "bytes=3-1", "bytes=-"]) {
			const answer = await ask(range);
			expect([answer.status, await answer.text()]).toEqual([200, "12345"]);
		}
		const head = await fetch(service.url + path, { method: "HEAD", headers: { authorization: `Bearer ${KEY}` } });
		expect([head.status, head.headers.get("content-length")]).toEqual([200, "5"]);
	});
});
