/** How much may be stored, and what becomes of files and of bytes without one (D56). */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toFile } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { ON_POSTGRES } from "../../../support/service-store.ts";
import { until } from "../../../support/until.ts";
import { atOnce, endWith } from "../../hand-worker.ts";
import { rawConnection, requestText } from "../../raw-http.ts";
import { clientOf, contentOf, sendForm } from "./files-client.ts";

const MB = 2 ** 20;
const HOUR = 3_600_000;
const clock = manualClock();
const endpoints = Object.fromEntries(
	["ep", "large", "full", "other", "expiring", "removed", "left"].map((id) => [id, {}]),
);
let service: TestService;
beforeAll(async () => {
	const files = { maxMb: 1, endpointMb: 2, totalMb: 5 };
	service = await startService({ endpoints, settings: { files }, clock, pauseMs: Infinity });
});
afterAll(() => endWith(service, clock));

const fileOf = (bytes: number): File => new File([Buffer.alloc(bytes, "x")], "a.bin");
const send = (endpoint: string, bytes: number) =>
	sendForm(
		service,
		[
			["purpose", "user_data"],
			["file", fileOf(bytes)],
		],
		{ endpoint },
	);

/** Whether the store has bytes of the file. */
async function hasBytes(id: string): Promise<boolean> {
	const { filesFolder, pieces } = service.engine.kernel.store;
	if (pieces) return (await pieces.get({ file: id, number: 0, into: Buffer.alloc(0) })) !== undefined;
	return readdirSync(filesFolder!.path).includes(id);
}

/** Sends the head of an upload, and perhaps a part of its body, and reads the answer. */
async function begun(headers: Record<string, string>, ...body: readonly Uint8Array[]) {
	const connection = await rawConnection(service.url);
	const head = { Authorization: `Bearer ${KEY}`, "Content-Type": "multipart/form-data; boundary=b", ...headers };
	connection.write(requestText({ method: "POST", path: "/v2/large/openai/v1/files", headers: head }));
	for (const piece of body) connection.write(piece);
	const answer = await connection.answer();
	connection.socket.destroy();
	return { status: answer.status, headers: answer.headers, json: JSON.parse(answer.text) };
}

const chunk = (bytes: Uint8Array): Buffer =>
	Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

it("D56: a file that is too large is 413 with bound and setting, before any of it is read", async () => {
	const answer = await begun({ "Content-Length": String(600 * MB) });
	expect(answer).toMatchObject({ status: 413, headers: { connection: "close" } });
	expect(answer.json.error).toMatchObject({ code: "file_too_large", type: "invalid_request_error", param: "file" });
	expect(answer.json.error.message).toMatch(/at most 1048576 are accepted, since files\.maxMb is 1\.$/);
});

it("D56: one without a length is 413 as soon as it is too large, though it goes on", async () => {
	const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
	const pieces = Array.from({ length: 20 }, () => chunk(Buffer.alloc(64 * 1024)));
	const answer = await begun({ "Transfer-Encoding": "chunked" }, chunk(head), ...pieces);
	expect(answer).toMatchObject({ status: 413, headers: { connection: "close" } });
	expect(answer.json.error.message).toContain("The file has over 1048576 bytes");
	expect((await call(service.url, "/v2/large/openai/v1/files")).json.data).toEqual([]);
});

it("D2, D56: a form that goes on behind its end is 413 body_too_large, and nothing is stored", async () => {
	const part = (head: string, body: string): string =>
		`--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
	const form = `${part('name="purpose"', "vision")}${part('name="file"; filename="a"', "x")}--b--\r\n`;
	const pieces = Array.from({ length: 6 }, () => chunk(Buffer.alloc(MB)));
	const answer = await begun({ "Transfer-Encoding": "chunked" }, chunk(Buffer.from(form)), ...pieces);
	expect(answer).toMatchObject({ status: 413, json: { error: { code: "body_too_large" } } });
	expect((await call(service.url, "/v2/large/openai/v1/files")).json.data).toEqual([]);
});

it("D56: a file of exactly files.maxMb is stored", async () => {
	expect(await send("large", MB)).toMatchObject({ status: 200, json: { bytes: MB } });
	expect(await send("large", MB + 1)).toMatchObject({ status: 413, json: { error: { code: "file_too_large" } } });
});

it("D56: files.endpointMb and files.totalMb are bounds of all files; a deletion makes room", async () => {
	const first = await send("full", MB);
	expect(await send("full", MB)).toMatchObject({ status: 200 });
	const refused = await send("full", 1);
	expect(refused).toMatchObject({ status: 413, json: { error: { code: "endpoint_files_full" } } });
	expect(refused.json.error.message).toContain(
		"The files of endpoint 'full' have 2.0 MB; with this one they would have more than files.endpointMb, 2 MB.",
	);
	// With the file of the case before.
	expect(await send("other", MB)).toMatchObject({ status: 200 });
	expect(await send("other", MB)).toMatchObject({ status: 200 });
	const all = await send("ep", 1);
	expect(all).toMatchObject({ status: 413, json: { error: { code: "files_full" } } });
	expect(all.json.error.message).toContain("more than files.totalMb, 5 MB");
	const client = clientOf(service, "full");
	await client.files.delete(first.json.id);
	expect(await hasBytes(first.json.id)).toBe(false);
	expect(await send("ep", 1)).toMatchObject({ status: 200 });
	for (const endpoint of ["full", "other"])
		for await (const { id } of clientOf(service, endpoint).files.list())
			await clientOf(service, endpoint).files.delete(id);
});

it("D56: uploads at the same time are bounded together", async () => {
	const answers = await Promise.all(Array.from({ length: 6 }, () => send("full", MB)));
	expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
	expect(answers.filter(({ status }) => status === 413)).toHaveLength(4);
	const client = clientOf(service, "full");
	for await (const { id } of client.files.list()) await client.files.delete(id);
});

it("D56: a file is missing when it expires, and its bytes within an hour", async () => {
	const client = clientOf(service, "expiring");
	const file = await toFile(Buffer.from("{}"), "a.jsonl");
	const { id } = await client.files.create({
		file,
		purpose: "batch",
		expires_after: { anchor: "created_at", seconds: 5400 },
	});
	await clock.leap(5_399_000);
	expect(String(await contentOf(client, id))).toBe("{}");
	await clock.leap(1000);
	await expect(client.files.retrieve(id)).rejects.toMatchObject({ status: 404 });
	expect((await client.files.list()).data).toEqual([]);
	await clock.leap(HOUR);
	await advanceUntil(clock, async () => !(await hasBytes(id)), 0);
});

it("D39, D56: files go with their endpoint, and their bytes within two hours", async () => {
	const { json } = await send("removed", 10);
	expect(await hasBytes(json.id)).toBe(true);
	const deleted = service.next("endpoint.deleted", ({ endpoint }) => endpoint === "removed");
	expect((await call(service.url, "/v1/endpoints/removed", { method: "DELETE" })).status).toBe(200);
	await clock.advance(1000);
	await atOnce(clock, deleted);
	expect((await call(service.url, `/v2/removed/openai/v1/files/${json.id}`)).status).toBe(404);
	const totals = await service.engine.kernel.store.files.totals();
	expect(totals.map(({ endpoint }) => endpoint)).not.toContain("removed");
	await clock.leap(HOUR);
	await clock.leap(HOUR);
	await advanceUntil(clock, async () => !(await hasBytes(json.id)), 0);
});

it("D39, D56: an upload whose endpoint is deleted meanwhile is 404, and leaves nothing", async () => {
	const connection = await rawConnection(service.url);
	const headers = {
		Authorization: `Bearer ${KEY}`,
		"Content-Type": "multipart/form-data; boundary=b",
		"Transfer-Encoding": "chunked",
	};
	const { filesFolder, pieces } = service.engine.kernel.store;
	const known = new Set(filesFolder && readdirSync(filesFolder.path));
	connection.write(requestText({ method: "POST", path: "/v2/left/openai/v1/files", headers }));
	const field = 'Content-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n--b\r\n';
	const file = 'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
	connection.write(chunk(Buffer.from(`--b\r\n${field}${file}first`)));
	const stored = (): string[] => (filesFolder ? readdirSync(filesFolder.path).filter((name) => !known.has(name)) : []);
	if (filesFolder) await until("the upload to begin", () => stored().length > 0);
	const deleted = service.next("endpoint.deleted", ({ endpoint }) => endpoint === "left");
	expect((await call(service.url, "/v1/endpoints/left", { method: "DELETE" })).status).toBe(200);
	await clock.advance(1000);
	await atOnce(clock, deleted);
	connection.write(Buffer.concat([chunk(Buffer.from(" second\r\n--b--\r\n")), Buffer.from("0\r\n\r\n")]));
	const answer = await connection.answer();
	expect(answer.status, answer.text).toBe(404);
	expect(stored()).toEqual([]);
	expect(pieces && (await pieces.sweep({ before: Number.MAX_SAFE_INTEGER }))).toEqual(pieces && 0);
	connection.socket.destroy();
});

it("D56: bytes without a file are removed an hour after they were written, and nothing else is", async () => {
	const { json } = await send("ep", 10);
	const { filesFolder: folder, pieces } = service.engine.kernel.store;
	const [old, recent] = ["0", "1"].map((digit) => `file-${digit.repeat(32)}`) as [string, string];
	const now = service.engine.calendar.now() as number;
	if (pieces)
		for (const [file, at] of [
			[old, now - 2 * HOUR],
			[recent, now + HOUR],
		] as const)
			await pieces.put({ file, number: 0, bytes: Buffer.from("x"), now: at });
	else {
		mkdirSync(folder!.path, { recursive: true });
		for (const [name, at] of [
			[old, now - 2 * HOUR],
			[`${old}.part`, now - 2 * HOUR],
			[recent, now + HOUR],
			[`${recent}.part`, now + HOUR],
			["of an operator", now - 2 * HOUR],
			[json.id, now - 2 * HOUR],
		] as const) {
			writeFileSync(join(folder!.path, name), "x".repeat(10));
			utimesSync(join(folder!.path, name), at / 1000, at / 1000);
		}
	}
	await clock.leap(HOUR);
	await advanceUntil(clock, async () => !(await hasBytes(old)), 0);
	expect([await hasBytes(recent), await hasBytes(json.id)]).toEqual([true, true]);
	if (folder) {
		const names = readdirSync(folder.path);
		expect(names).toEqual(expect.arrayContaining([`${recent}.part`, "of an operator"]));
		expect(names).not.toContain(`${old}.part`);
	}
});

it("D56: a file whose bytes are missing or cut off is 500 with its id, and can be deleted", async () => {
	const { json } = await send("ep", 10);
	const { filesFolder: folder, pieces } = service.engine.kernel.store;
	const now = service.engine.calendar.now() as number;
	const id = json.id as string;
	const content = () => call(service.url, `/v2/ep/openai/v1/files/${id}/content`);
	const missing = { status: 500, json: { error: { code: "file_missing", type: "server_error" } } };
	if (pieces) await pieces.put({ file: id, number: 0, bytes: Buffer.from("cut"), now });
	else writeFileSync(join(folder!.path, id), "cut");
	expect(await content()).toMatchObject(missing);
	await (pieces ? pieces.remove({ file: id }) : folder!.remove(id));
	const answer = await content();
	expect(answer).toMatchObject(missing);
	expect(answer.json.error.message).toContain(`The bytes of file '${id}' are missing or cut off`);
	await clientOf(service, "ep").files.delete(id);
});

it("D56: a file that is deleted after its row was read and before its bytes are is 404", async () => {
	const { json } = await send("ep", 10);
	const { files } = service.engine.kernel.store;
	const { find } = files;
	files.find = async (q) => {
		const row = await find(q);
		files.find = find;
		await clientOf(service, "ep").files.delete(json.id);
		return row;
	};
	const answer = await call(service.url, `/v2/ep/openai/v1/files/${json.id}/content`);
	expect(answer).toMatchObject({ status: 404, json: { error: { code: "file_not_found" } } });
});

it.skipIf(ON_POSTGRES)(
	"D56: the sweep leaves an upload alone that is in progress, whatever its time says",
	async () => {
		const folder = service.engine.kernel.store.filesFolder!.path;
		/** Bytes without a file, which the next sweep removes. */
		const leftOver = (): string => {
			const id = `file-${"2".repeat(32)}`;
			writeFileSync(join(folder, id), "x");
			utimesSync(join(folder, id), 1, 1);
			return id;
		};
		const first = leftOver();
		await clock.leap(HOUR);
		await advanceUntil(clock, async () => !(await hasBytes(first)), 0);
		// Half a minute before the next one: an upload of hours would be too slow.
		await clock.leap(HOUR - 30_000);
		const connection = await rawConnection(service.url);
		const path = "/v2/ep/openai/v1/files";
		const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "multipart/form-data; boundary=b" };
		connection.write(requestText({ method: "POST", path, headers: { ...headers, "Transfer-Encoding": "chunked" } }));
		const before = new Set(readdirSync(folder));
		connection.write(chunk(Buffer.from('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nvision\r\n')));
		connection.write(
			chunk(Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nfirst')),
		);
		const part = await until("the upload to begin", () => readdirSync(folder).find((name) => !before.has(name)));
		utimesSync(join(folder, part), 1, 1);
		const old = leftOver();
		await clock.leap(30_000);
		await advanceUntil(clock, async () => !(await hasBytes(old)), 0);
		expect(readdirSync(folder)).toContain(part);
		connection.write(Buffer.concat([chunk(Buffer.from(" second\r\n--b--\r\n")), Buffer.from("0\r\n\r\n")]));
		const answer = await connection.answer();
		expect(answer.status, answer.text).toBe(200);
		const { id } = JSON.parse(answer.text) as { id: string };
		expect(String(await contentOf(clientOf(service, "ep"), id))).toBe("first second");
		connection.socket.destroy();
	},
);
