import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { httpServer, type TestServer } from "../../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import { StreamOutput } from "../../stream-output.ts";
import { serverAt } from "../exchange/connection.ts";
import { exchange } from "../exchange/exchange.ts";
import { sseEvents } from "./stream-events.ts";
import { chunksOf } from "./stream.ts";

let server: TestServer | undefined;
afterEach(async () => {
	await server?.close();
	server = undefined;
});

/** Chunks of a real answer, then the output. `send`: what the server sends. */
async function streamed(
	send: string | Buffer | ((response: ServerResponse) => void),
	stream: object,
	{ maxBytes = 10_000_000, onChunk = () => {} }: { maxBytes?: number; onChunk?: (count: number) => void } = {},
) {
	server = await httpServer((_request, response) => {
		response.setHeader("content-type", "audio/wav");
		if (typeof send === "function") send(response);
		else response.end(send);
	});
	const limits = { connectMs: 5000, clock: systemClock };
	const answer = await exchange(serverAt({ port: server.port }), { method: "GET", path: "/", headers: {}, ...limits });
	const chunks: unknown[] = [];
	const texts: string[] = [];
	let output: unknown;
	for await (const each of chunksOf(answer, mappingOf({ stream }).stream!, maxBytes)) {
		texts.push(each.text);
		if (each instanceof StreamOutput) output = JSON.parse(each.text);
		else onChunk(chunks.push(JSON.parse(each.text)));
	}
	return { chunks, output, texts };
}

describe("server-sent events", () => {
	it("each is a chunk, its data as JSON or text", async () => {
		const { chunks, output } = await streamed('data: {"a":1}\n\n: ping\n\nevent: x\ndata: b\ndata: c\n\n', {
			as: "sse",
		});
		expect([chunks, output]).toEqual([
			[{ a: 1 }, "b\nc"],
			[{ a: 1 }, "b\nc"],
		]);
	});

	it("keeps the digits of large integers", async () => {
		const { texts } = await streamed('data: {"id":9007199254740993}\n\n', { as: "sse" });
		expect(texts).toEqual(['{"id":9007199254740993}', '[{"id":9007199254740993}]']);
	});

	it("ends at its end, and what follows is not read", async () => {
		const sent = (response: ServerResponse): void => void response.write("data: 1\n\ndata: [DONE]\n\ndata: 2\n\n");
		expect((await streamed(sent, { as: "sse", end: "[DONE]" })).chunks).toEqual([1]);
	});

	it("raw: whole events as text, byte for byte, with their names and the end", async () => {
		const sent = 'event: delta\r\nid: 7\r\ndata: {"a": 1.0}\r\n\r\ndata: [DONE]\r\n\r\n';
		const { chunks } = await streamed(sent, { as: "sse", raw: true, end: "[DONE]" });
		expect(chunks).toEqual(['event: delta\r\nid: 7\r\ndata: {"a": 1.0}\r\n\r\n', "data: [DONE]\r\n\r\n"]);
	});

	it("selects with at, and skips events without it", async () => {
		const sent = 'data: {"t":"a"}\n\ndata: {"stats":1}\n\ndata: {"t":"b"}\n\n';
		expect(await streamed(sent, { as: "sse", at: "/t", output: "text" })).toMatchObject({
			chunks: ["a", "b"],
			output: "ab",
		});
		expect((await streamed(sent, { as: "sse", at: "/t", output: "last" })).output).toBe("b");
	});

	it("fails for an error amid the stream, and is a loss without its end", async () => {
		const error = streamed('data: {"t":1}\n\ndata: {"error":{"code":5}}\n\n', { as: "sse", error: "/error" });
		await expect(error).rejects.toThrow(/^\{"code":5\}$/);
		await expect(streamed("data: 1\n\n", { as: "sse", end: "[DONE]" })).rejects.toMatchObject({ loss: true });
		const broken = streamed((response) => response.write("data: 1\n\n", () => response.destroy()), { as: "sse" });
		await expect(broken).rejects.toMatchObject({ kind: "broken" });
	});

	it("an event arrives before the next one is sent", async () => {
		let sendNext = (): void => {};
		const { chunks } = await streamed(
			(response) => {
				response.write("data: 1\n\n");
				sendNext = () => void response.end("data: 2\n\n");
			},
			{ as: "sse" },
			{ onChunk: () => sendNext() },
		);
		expect(chunks).toEqual([1, 2]);
	});

	it("is the same however it is cut", async () => {
		const bytes = Buffer.from("data: é😀\r\n\r\ndata: b\rdata: c\n\ndata: d\n\n");
		const cut = async (size: number): Promise<string[]> => {
			const found: string[] = [];
			for await (const { data } of sseEvents(pieces(bytes, size))) found.push(data);
			return found;
		};
		for (let size = 1; size <= bytes.length; size += 1) expect(await cut(size)).toEqual(["é😀", "b\nc", "d"]);
	});

	it("has a bound for an event and for a chunk", async () => {
		const endless = (response: ServerResponse): void => {
			const more = (): void => void (response.destroyed || response.write("data: ".padEnd(65_536, "x"), more));
			more();
		};
		await expect(streamed(endless, { as: "sse" })).rejects.toThrow("longer than 8000000 characters");
		const large = `data: {"t":"a","image":"${"x".repeat(1_100_000)}"}\n\n`;
		await expect(streamed(large, { as: "sse" })).rejects.toThrow("http.stream.at");
		expect((await streamed(large, { as: "sse", at: "/t" })).chunks).toEqual(["a"]);
		await expect(streamed("data: 1234\n\n".repeat(9), { as: "sse" }, { maxBytes: 30 })).rejects.toThrow("maxBytes");
	});
});

describe("other streams", () => {
	it("ndjson: each line", async () => {
		const { chunks } = await streamed('{"a":1}\r\n\n{"a":2}', { as: "ndjson", at: "/a" });
		expect(chunks).toEqual([1, 2]);
		await expect(streamed('{"a":1}\nno\n', { as: "ndjson" })).rejects.toThrow("is not JSON: no");
	});

	it("text: no character is divided, and no chunk is too large", async () => {
		const text = "é😀".repeat(200_000);
		const { chunks, output } = await streamed(text, { as: "text", output: "text" });
		expect(output).toBe(text);
		expect((chunks as string[]).every((each) => each.isWellFormed() && !each.includes("\ufffd"))).toBe(true);
	});

	it("binary: base64 that joins, with its type as the output", async () => {
		const bytes = Buffer.alloc(200_001, "wave");
		const { chunks, output } = await streamed(bytes, { as: "binary", output: "text" });
		expect(Buffer.from((chunks as string[]).join(""), "base64").equals(bytes)).toBe(true);
		expect(output).toEqual({ contentType: "audio/wav", bytes: bytes.length, data: bytes.toString("base64") });
	});

	it("ends at once when its reader stops while the server is silent", async () => {
		const onChunk = (): void => {
			throw new Error("enough");
		};
		const sent = (response: ServerResponse): void => void response.write("a");
		await expect(streamed(sent, { as: "text" }, { onChunk })).rejects.toThrow("enough");
	});

	it("maxBytes counts bytes", async () => {
		await expect(streamed("éé", { as: "text", output: "text" }, { maxBytes: 3 })).rejects.toThrow("maxBytes");
	});
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer, void> {
	for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
