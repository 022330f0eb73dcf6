/** Forms, as clients send them and as they should not, over real connections. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Call } from "./call.ts";
import { isForm, readForm } from "./form.ts";
import type { FormLimits } from "./form-parser.ts";

const KB = 1024;
const LIMITS: FormLimits = { bytes: 1024 * KB, fields: 3, fieldBytes: 10, files: 2, fileBytes: 512 * KB };
const TYPE = "multipart/form-data; boundary=b";

const ends: (() => void)[] = [];
afterEach(() => {
	for (const end of ends.splice(0)) end();
});

const field = (name: string, value: string): string =>
	`--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, content: string, head = 'filename="a.wav"\r\nContent-Type: Audio/WAV; x=1'): string =>
	`--b\r\nContent-Disposition: form-data; name="${name}"; ${head}\r\n\r\n${content}\r\n`;

/** Time of the service, ms. */
let now = 0;

/** The call of a request whose head has arrived, and the client's socket. */
async function begun(headers: Record<string, string>, readTimeout = 30_000): Promise<{ call: Call; socket: Socket }> {
	const server = createServer();
	const arrived = once(server, "request") as Promise<[IncomingMessage]>;
	await once(server.listen(0, "127.0.0.1"), "listening");
	const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
	ends.push(() => {
		socket.destroy();
		server.closeAllConnections();
		server.close();
	});
	socket.on("error", () => {});
	const lines = Object.entries({ Host: "h", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.write(`POST / HTTP/1.1\r\n${lines.join("")}\r\n`);
	const [req] = await arrived;
	const engine = { now: () => now, budgets: { readTimeout: { limit: readTimeout } } };
	const call = { req, engine } as unknown as Call;
	return { call, socket };
}

/** Sends a body in pieces of `size` characters, and reads all parts. */
async function parts(body: string, { type = TYPE, limits = LIMITS, size = body.length } = {}): Promise<unknown[]> {
	const { call, socket } = await begun({ "Content-Type": type, "Content-Length": String(body.length) });
	for (let at = 0; at < body.length; at += size) socket.write(body.slice(at, at + size), "latin1");
	const found: unknown[] = [];
	for await (const part of readForm(call, limits))
		if ("content" in part) {
			const { content, ...rest } = part;
			found.push({ ...rest, content: Buffer.concat(await content.toArray()).toString("latin1") });
		} else found.push(part);
	return found;
}

const refusal = (reading: Promise<unknown>): Promise<unknown> =>
	reading.then(
		() => "not refused",
		(error: { code?: string; status?: number; message: string }) => [error.code, error.status, error.message],
	);

describe("readForm", () => {
	const whole = `${field("model", "whisper")}${file("file", "RIFF\r\n--c\0")}${field("x[]", "1")}--b--\r\n`;
	const expected = [
		{ name: "model", value: "whisper" },
		{ name: "file", fileName: "a.wav", type: "audio/wav", content: "RIFF\r\n--c\0" },
		{ name: "x[]", value: "1" },
	];

	it("gives the parts in their order, however the body is cut", async () => {
		for (const size of [1, 2, 7, 50, 10_000]) expect(await parts(whole, { size })).toEqual(expected);
	});

	it.each([
		["a quoted boundary", whole, 'multipart/form-data; charset=utf-8; boundary="b"'],
		["line ends before it, and text after it", `\r\n${whole}an epilogue`, TYPE],
		["names in capitals", whole, "Multipart/Form-Data; Boundary=b"],
	])("takes %s", async (_name, body, type) => {
		expect(await parts(body, { type })).toEqual(expected);
	});

	it("takes a form without parts, and a file without content or name", async () => {
		expect(await parts("--b--\r\n")).toEqual([]);
		expect(await parts(`${file("f", "", 'filename=""')}--b--`)).toMatchObject([
			{ name: "f", fileName: "", type: "text/plain", content: "" },
		]);
		expect(await parts(`${file("f", "x", 'filename="../a/b.png"')}--b--`)).toMatchObject([{ fileName: "b.png" }]);
	});

	it.each([
		["no boundary", "x", "multipart/form-data", /no boundary/],
		["another boundary", whole, "multipart/form-data; boundary=c", /does not begin with the boundary/],
		["JSON", '{"a":1}', TYPE, /does not begin with the boundary/],
		["no end", whole.slice(0, -20), TYPE, /ends before its last boundary/],
		["the end within a file", `${file("f", "abc").slice(0, -4)}`, TYPE, /ends before its last boundary/],
		["the end within a head", "--b\r\nContent-Disposition: form-", TYPE, /ends before its last boundary/],
		["an empty body", "", TYPE, /ends before its last boundary/],
		["a part without a name", "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--", TYPE, /has no name/],
		["a long name", `${field("n".repeat(300), "x")}--b--`, TYPE, /over 256 characters/],
		["many fields", `${field("n", "x").repeat(4)}--b--`, TYPE, /over 3 fields/],
		["many files", `${file("n", "x").repeat(3)}--b--`, TYPE, /over 2 files/],
	])("refuses %s", async (_name, body, type, message) => {
		expect(await refusal(parts(body, { type }))).toEqual(["bad_form", 400, expect.stringMatching(message)]);
	});

	it("refuses a field and a file over their bounds, and takes those of exactly that size", async () => {
		const limits = { ...LIMITS, fileBytes: 10 };
		const [ten, more] = ["x".repeat(10), "x".repeat(11)];
		expect(await parts(`${field("a", ten)}${file("f", ten)}--b--`, { limits })).toHaveLength(2);
		for (const body of [field("a", more), file("a", more)])
			expect(await refusal(parts(`${body}--b--`, { limits }))).toEqual([
				"part_too_large",
				413,
				"The part 'a' of the form has over 10 bytes, the most that is accepted.",
			]);
	});

	it("refuses a body by its Content-Length before any of it is sent, and by its bytes", async () => {
		const { call } = await begun({ "Content-Type": TYPE, "Content-Length": String(LIMITS.bytes + 1) });
		const reading = readForm(call, LIMITS).next();
		expect(await refusal(reading)).toEqual(["body_too_large", 413, expect.stringContaining("1048577 bytes")]);
		const { call: chunked, socket } = await begun({ "Content-Type": TYPE, "Transfer-Encoding": "chunked" });
		const endless = refusal(Array.fromAsync(readForm(chunked, { ...LIMITS, fileBytes: 4 * LIMITS.bytes })));
		socket.write(`${file("f", "").length.toString(16)}\r\n${file("f", "")}\r\n`);
		const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
		const send = (): void => void (socket.writable && socket.write(piece, () => setImmediate(send)));
		send();
		expect(await endless).toEqual(["body_too_large", 413, expect.stringContaining("over 1048576 bytes")]);
		socket.destroy();
	});

	it("refuses garbage at once, though more of the body is announced", async () => {
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": "1000000" });
		socket.write("GIF89a");
		expect(await refusal(readForm(call, LIMITS).next())).toEqual(["bad_form", 400, expect.any(String)]);
	});

	it("refuses a client that sends nothing for the read timeout, also within a file", async () => {
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": "1000" }, 50);
		socket.write(file("f", "abc").slice(0, -2));
		expect(await refusal(Array.fromAsync(readForm(call, LIMITS)))).toEqual([
			"request_timeout",
			408,
			expect.any(String),
		]);
	});

	it("a connection that ends within a file fails its reader", async () => {
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": "1000000" });
		socket.write(file("f", "abc").slice(0, -2));
		const form = readForm(call, LIMITS);
		const { value } = await form.next();
		const read = refusal(
			(value as { content: NodeJS.ReadableStream & { toArray(): Promise<unknown> } }).content.toArray(),
		);
		socket.destroy();
		expect(await read).toEqual(["bad_form", 400, expect.stringContaining("the connection closed")]);
		expect(await refusal(form.next())).toEqual(["bad_form", 400, expect.any(String)]);
	});

	it("a client that leaves after its last byte, before that is read, fails the form", async () => {
		const body = `${file("f", "abc")}--b--`;
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": String(body.length) });
		const { req } = call;
		socket.write(body);
		while (!req.complete) await new Promise((resolve) => setImmediate(resolve));
		const closed = new Promise((resolve) => req.on("error", () => {}).once("close", resolve));
		socket.destroy();
		await closed;
		expect(req.readableEnded).toBe(false);
		expect(await refusal(Array.fromAsync(readForm(call, LIMITS)))).toEqual([
			"bad_form",
			400,
			expect.stringContaining("the connection closed"),
		]);
	});

	it.each<[string, { bytesPerSecond?: number }, ms: number, late: boolean]>([
		["the whole form has 5 minutes", {}, 300_000, false],
		["a longer one is late", {}, 300_001, true],
		["with a rate it has as long as it keeps that", { bytesPerSecond: 100 }, 600_000, false],
		["with a rate a slower one is late", { bytesPerSecond: 100 }, 700_000, true],
		["a rate is judged after a minute", { bytesPerSecond: 2000 }, 60_000, false],
	])("%s", async (_, more, ms, isLate) => {
		const body = `${file("f", "x".repeat(65_000))}--b--`;
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": String(body.length) });
		const read = refusal(Array.fromAsync(readForm(call, { ...LIMITS, ...more })));
		while (call.req.listenerCount("data") === 0) await new Promise((resolve) => setImmediate(resolve));
		now += ms;
		socket.write(body);
		expect(await read).toEqual(isLate ? ["request_timeout", 408, expect.any(String)] : "not refused");
	});

	it("reads no further than a file's reader wants, and sets no time limit meanwhile", async () => {
		const size = 400 * KB;
		const body = `${file("f", "x".repeat(size))}--b--`;
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": String(body.length) });
		const { req } = call;
		const { setTimeout: setLimit, pause } = req;
		const limits: number[] = [];
		req.setTimeout = (ms, late) => {
			limits.push(ms);
			return setLimit.call(req, ms, late);
		};
		const paused = new Promise<number | undefined>((resolve) => {
			req.pause = () => {
				// The limit is set in the same turn.
				queueMicrotask(() => resolve(limits.at(-1)));
				return pause.call(req);
			};
		});
		const form = readForm(call, LIMITS);
		socket.write(body);
		const { value } = await form.next();
		const { content } = value as { content: AsyncIterable<Buffer> & { readableLength: number } };
		expect(await paused).toBe(0);
		expect(content.readableLength).toBeLessThan(200 * KB);
		let length = 0;
		for await (const piece of content) length += piece.length;
		expect(length).toBe(size);
		expect(await form.next()).toEqual({ done: true, value: undefined });
		expect(limits).toContain(30_000);
		expect(limits.at(-1)).toBe(0);
	});

	it("drops a file that is left alone when the next part is asked for", async () => {
		const body = `${file("f", "x".repeat(300 * KB))}${field("a", "1")}--b--`;
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": String(body.length) });
		socket.write(body);
		const names: string[] = [];
		for await (const { name } of readForm(call, LIMITS)) names.push(name);
		expect(names).toEqual(["f", "a"]);
	});

	it("a file that is destroyed before its end fails the form instead of stopping it for good", async () => {
		const body = `${file("f", "x".repeat(300 * KB))}${field("a", "1")}--b--`;
		const { call, socket } = await begun({ "Content-Type": TYPE, "Content-Length": String(body.length) });
		socket.write(body);
		const form = readForm(call, LIMITS);
		const { value } = await form.next();
		(value as { content: { destroy(): void } }).content.destroy();
		await expect(form.next()).rejects.toThrow("destroyed before its end");
	});

	it("refuses a body that is compressed", async () => {
		const { call } = await begun({ "Content-Type": TYPE, "Content-Encoding": "gzip", "Content-Length": "10" });
		expect(await refusal(readForm(call, LIMITS).next())).toEqual(["unsupported_encoding", 415, expect.any(String)]);
	});
});

it.each([
	[TYPE, true],
	["multipart/form-data", true],
	["Multipart/Form-Data;boundary=x", true],
	["multipart/mixed; boundary=x", false],
	["application/json", false],
	[undefined, false],
])("isForm of %s is %s", (type, expected) => {
	expect(isForm({ headers: { "content-type": type } } as IncomingMessage)).toBe(expected);
});
