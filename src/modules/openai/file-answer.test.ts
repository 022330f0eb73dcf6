import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { BLOCK_BYTES } from "../../kernel/lib/json/json-text.ts";
import { answeredAsFile, fileAnswer } from "./file-answer.ts";

const ends: (() => void)[] = [];
afterEach(() => {
	for (const end of ends.splice(0)) end();
});

/** Runs all steps. */
function read(output: string | Uint8Array[]) {
	const steps = fileAnswer(output);
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}

const outputOf = (bytes: Uint8Array, more: object = {}): string =>
	JSON.stringify({
		contentType: "audio/mpeg",
		bytes: bytes.length,
		data: Buffer.from(bytes).toString("base64"),
		...more,
	});

/** In blocks that cut anywhere. */
function inBlocks(text: string, size: number): Uint8Array[] {
	const bytes = new TextEncoder().encode(text);
	return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
}

/** What a client gets of an output. */
async function answered(output: string | Uint8Array[]): Promise<Response | undefined> {
	const server = createServer();
	await once(server.listen(0, "127.0.0.1"), "listening");
	ends.push(() => {
		server.closeAllConnections();
		server.close();
	});
	const asking = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
	const [req, res] = (await once(server, "request")) as [unknown, ServerResponse];
	const engine = { budgets: { readTimeout: { limit: 30_000 } } };
	const call = { req, res, caller: { disconnected: false }, engine, holds: {} } as unknown as Call;
	if (await answeredAsFile(call, output)) return await asking;
	res.end();
	await asking;
	return undefined;
}

describe("an output that is a file", () => {
	it("D32: is answered as its bytes with its type, which no browser runs", async () => {
		const bytes = Buffer.from([0, 1, 2, 255, 254]);
		for (const output of [outputOf(bytes), outputOf(bytes, { name: "a.mp3" })]) {
			const answer = (await answered(output))!;
			expect(Object.fromEntries(answer.headers)).toMatchObject({
				"content-type": "audio/mpeg",
				"content-length": "5",
				"content-security-policy": "sandbox; default-src 'none'",
				"x-content-type-options": "nosniff",
			});
			expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
		}
	});

	it("D32: may be empty, without padding, in any order, with line breaks around its members", async () => {
		for (const [text, expected] of [
			['{"contentType":"text/plain","bytes":0,"data":""}', ""],
			['\n{ "data" : "QUI" , "bytes" : 2 , "contentType" : "text/plain" }', "AB"],
			['{"contentType":"text/vtt; charset=utf-8","bytes":1,"data":"QQ=="}', "A"],
		] as const)
			expect(await (await answered(text))?.text()).toBe(expected);
	});

	it("D41: a large one is decoded in pieces, however the blocks cut it", async () => {
		const bytes = Buffer.alloc(1_000_003, "a sentence of many bytes");
		for (const size of [999, BLOCK_BYTES]) {
			const { contentType, ...first } = JSON.parse(outputOf(bytes)) as { contentType: string };
			const text = size === 999 ? outputOf(bytes) : JSON.stringify({ ...first, contentType });
			const answer = (await answered(inBlocks(text, size)))!;
			expect(bytes.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
		}
	});

	it.each([
		['{"contentType":"a/b","bytes":1}'],
		['{"contentType":"a/b","bytes":2,"data":"QQ=="}'],
		['{"contentType":"a/b","bytes":1,"data":"Q%=="}'],
		['{"contentType":"a/b","bytes":1,"data":"Q=Q="}'],
		['{"contentType":"a/b","bytes":1,"data":"QQ==","text":"x"}'],
		['{"contentType":"a","bytes":1,"data":"QQ=="}'],
		['{"contentType":"a/b\\r\\nx: y","bytes":1,"data":"QQ=="}'],
		['{"contentType":1,"bytes":1,"data":"QQ=="}'],
		['{"contentType":"a/b","bytes":"1","data":"QQ=="}'],
		['[{"contentType":"a/b","bytes":1,"data":"QQ=="}]'],
		['{"text":"contentType"}'],
		['"contentType"'],
	])("D32: %s is none", (text) => {
		expect(read(text)).toBeUndefined();
		expect(read(inBlocks(text, 3))).toBeUndefined();
	});
});
