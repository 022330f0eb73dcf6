/** The bound of lines that wait for a stream that is not read. */
import { PassThrough, Writable } from "node:stream";
import { expect, it } from "vitest";
import { lineWriter } from "./line-writer.ts";

it("D51: of a stream that is not read, lines up to the bound wait; then the number of the others is said", async () => {
	const stream = new PassThrough({ highWaterMark: 1 });
	const write = lineWriter(stream, (lines) => write(`${lines} dropped\n`), 20);
	for (let n = 0; n < 100; n += 1) write(`line ${n}\n`);
	expect(stream.writableLength).toBeLessThanOrEqual(20);
	const texts: string[] = [];
	stream.on("data", (piece: Buffer) => texts.push(piece.toString()));
	await expect.poll(() => texts.join("")).toBe("line 0\nline 1\n98 dropped\n");
	write("again\n");
	await expect.poll(() => texts.at(-1)).toBe("again\n");
});

it("D51: a line above the bound is written where nothing waits, and the next ones follow it", async () => {
	const texts: string[] = [];
	const stream = new PassThrough().on("data", (piece: Buffer) => texts.push(piece.toString()));
	const write = lineWriter(stream, (lines) => write(`${lines} dropped\n`), 20);
	const long = `${"x".repeat(100)}\n`;
	write(long);
	write("beside it\n");
	await expect.poll(() => texts.join("")).toBe(`${long}1 dropped\n`);
	write("again\n");
	await expect.poll(() => texts.at(-1)).toBe("again\n");
});

it("D51: a stream that is read loses nothing, and one that fails takes nothing more", async () => {
	const read: string[] = [];
	const good = new Writable({
		write: (piece: Buffer, _, done) => {
			read.push(piece.toString());
			done();
		},
	});
	const dropped: number[] = [];
	const write = lineWriter(good, (lines) => dropped.push(lines), 20);
	for (let n = 0; n < 100; n += 1) {
		write(`line ${n}\n`);
		await new Promise((resolve) => setImmediate(resolve));
	}
	expect([read.length, dropped]).toEqual([100, []]);
	let tries = 0;
	const broken = new Writable({
		write: (_piece, _, done) => {
			tries += 1;
			done(new Error("EPIPE"));
		},
	}).on("error", () => {});
	const fail = lineWriter(broken, (lines) => dropped.push(lines), 20);
	for (let n = 0; n < 100; n += 1) fail("a line\n");
	await new Promise((resolve) => setImmediate(resolve));
	expect([tries, dropped]).toEqual([1, []]);
});
