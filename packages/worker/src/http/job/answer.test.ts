import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { httpServer, type TestServer } from "../../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import { serverAt } from "../exchange/connection.ts";
import { exchange } from "../exchange/exchange.ts";
import { readOutput } from "./answer.ts";

const MB = 1_048_576;
let folder: string;
let server: TestServer | undefined;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
});
afterEach(async () => {
	await server?.close();
	server = undefined;
	// No temporary file is left, whatever happened.
	expect(readdirSync(folder)).toEqual([]);
	rmSync(folder, { recursive: true });
});

async function outputOf(
	{
		headers = {},
		send,
		temporary = folder,
	}: {
		headers?: OutgoingHttpHeaders;
		send: string | Buffer | ((response: ServerResponse) => void);
		temporary?: string;
	},
	mapping: object = {},
): Promise<string> {
	server = await httpServer((_request, response) => {
		response.writeHead(200, headers);
		if (typeof send === "function") send(response);
		else response.end(send);
	});
	const { answer, failed } = mappingOf(mapping);
	const limits = { connectMs: 5000, clock: systemClock };
	const received = await exchange(serverAt({ port: server.port }), {
		method: "GET",
		path: "/",
		headers: {},
		...limits,
	});
	return (await readOutput(received, { answer, failed, folder: temporary })).text;
}

const json = { "content-type": "application/json; charset=utf-8" };

describe("readOutput", () => {
	it("auto: JSON byte for byte, text as a text, the rest as base64", async () => {
		const text = '{ "seed":9223372036854775807, "error": "not of the kit" }';
		expect(await outputOf({ headers: json, send: text })).toBe(text);
		expect(await outputOf({ headers: { "content-type": "application/problem+json" }, send: "[1.0]" })).toBe("[1.0]");
		const latin = { "content-type": "text/html; charset=iso-8859-1" };
		expect(await outputOf({ headers: latin, send: Buffer.from([0xe9]) })).toBe('"é"');
		expect(await outputOf({ send: Buffer.from([1, 2]) })).toBe(
			'{"contentType":"application/octet-stream","bytes":2,"data":"AQI="}',
		);
		expect(await outputOf({ send: "" })).toBe("null");
	});

	it.each([
		['attachment; filename="a.png"', "a.png"],
		["attachment; filename=../../x/b.png", "b.png"],
		["attachment; filename=\"no.png\"; filename*=UTF-8''%C3%A9.png", "é.png"],
	])("names a file by %s", async (disposition, name) => {
		const headers = { "content-type": "image/png", "content-disposition": disposition };
		expect(JSON.parse(await outputOf({ headers, send: "x" }))).toMatchObject({ name, contentType: "image/png" });
	});

	it("spools more than 1 MB, and the base64 of its pieces joins", async () => {
		const bytes = Buffer.alloc(3 * MB + 1, "sluice!");
		const { data, bytes: count } = JSON.parse(
			await outputOf({ headers: { "content-type": "image/png" }, send: bytes }),
		);
		expect([count, Buffer.from(data, "base64").equals(bytes)]).toEqual([bytes.length, true]);
		const long = JSON.stringify({ text: "é".repeat(MB) });
		expect(await outputOf({ headers: json, send: long })).toBe(long);
	});

	it("large JSON of another encoding, or with a byte order mark, becomes UTF-8", async () => {
		const text = JSON.stringify({ text: "é".repeat(2 * MB) });
		const latin = { "content-type": "application/json; charset=iso-8859-1" };
		expect(await outputOf({ headers: latin, send: Buffer.from(text, "latin1") })).toBe(text);
		expect(await outputOf({ headers: json, send: `\ufeff${text}` })).toBe(text);
		const broken = Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff]), Buffer.from('"}')]);
		expect(await outputOf({ headers: json, send: broken })).toBe(`${text.slice(0, -2)}\ufffd"}`);
	});

	it("selects with at", async () => {
		expect(await outputOf({ headers: json, send: '{"a":[{"b":null}]}' }, { answer: { at: "/a/0" } })).toBe(
			'{"b":null}',
		);
		await expect(outputOf({ headers: json, send: '{"a":1}' }, { answer: { at: "/b" } })).rejects.toThrow("has no /b");
	});

	it("fails by a rule, with the server's message", async () => {
		const failed = [{ at: "/status", in: ["failed", { a: 1 }], message: "/error" }, { at: "/fault" }];
		const send = '{"status":"failed","error":"out of memory"}';
		await expect(outputOf({ headers: json, send }, { failed })).rejects.toThrow(/^out of memory$/);
		await expect(outputOf({ headers: json, send: '{"status":{"a":1}}' }, { failed })).rejects.toThrow('{"status"');
		await expect(outputOf({ headers: json, send: '{"fault":{"code":3}}' }, { failed })).rejects.toThrow("code");
		const empty = '{"status":"failed","error":""}';
		await expect(outputOf({ headers: json, send: empty }, { failed })).rejects.toThrow(/^\{"status":"failed"/);
		expect(await outputOf({ headers: json, send: '{"fault":null}' }, { failed })).toBe('{"fault":null}');
	});

	it("makes no values of JSON of which nothing is read", async () => {
		const parse = vi.spyOn(JSON, "parse");
		const send = `[${"{},".repeat(MB)}{}]`;
		expect(await outputOf({ headers: json, send })).toBe(send);
		expect(parse.mock.calls.some(([text]) => text === send)).toBe(false);
		parse.mockRestore();
	});

	it("fails for what is not JSON", async () => {
		await expect(outputOf({ headers: json, send: "<html>" })).rejects.toThrow(
			/^The answer is not JSON \(at character 1\): <html>$/,
		);
	});

	it("fails over maxBytes, by the header and by what arrives without an end", async () => {
		const bound = { answer: { maxBytes: 2 * MB } };
		await expect(outputOf({ send: Buffer.alloc(2 * MB + 1) }, bound)).rejects.toThrow("larger than 2097152 bytes");
		const endless = (response: ServerResponse): void => {
			const more = (): void => void (response.destroyed || response.write(Buffer.alloc(65_536), more));
			more();
		};
		await expect(outputOf({ send: endless }, bound)).rejects.toThrow("larger than 2097152 bytes");
	});

	it("passes on a connection that breaks, after the file was begun", async () => {
		const breaks = (response: ServerResponse): void => {
			response.write(Buffer.alloc(2 * MB), () => response.destroy());
		};
		await expect(outputOf({ send: breaks })).rejects.toMatchObject({ kind: "broken" });
	});

	it("returns the job with a loss when the disk does not take the answer", async () => {
		const missing = join(folder, "missing");
		const options = { headers: { "content-type": "image/png" }, send: Buffer.alloc(2 * MB), temporary: missing };
		await expect(outputOf(options)).rejects.toMatchObject({ name: "JobReturn", loss: true });
	});

	it("keeps integers above 2^53 of a selected value", async () => {
		const send = '{"a":{"seed":9223372036854775807,"x":1.5,"n":-12345678901234567890}}';
		expect(await outputOf({ headers: json, send }, { answer: { at: "/a" } })).toBe(
			'{"seed":9223372036854775807,"x":1.5,"n":-12345678901234567890}',
		);
	});

	it("refuses an encoding that it did not ask for", async () => {
		await expect(outputOf({ headers: { "content-encoding": "gzip" }, send: "x" })).rejects.toThrow("encoded as gzip");
	});
});
