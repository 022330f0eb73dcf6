/** Files of large texts: what is written is read, and a file is removed when nothing needs it. */
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { damageOf } from "../file/disk-errors.ts";
import { until } from "../../../../../test/support/until.ts";
import { grouped } from "./segment.ts";
import { openPayloadFiles, type PayloadFiles } from "./payload-files.ts";

const parent = mkdtempSync(join(tmpdir(), "sluice-payload-files-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));
let folders = 0;

const SEGMENT = 1000;

const bytes = (length: number, byte: number): Buffer[] => [
	Buffer.alloc(Math.floor(length / 2), byte),
	Buffer.alloc(Math.ceil(length / 2), byte + 1),
];
/** Two turns of the event loop: unused files are noticed in the first one. */
async function settled(): Promise<void> {
	for (let n = 0; n < 2; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
/** Numbers of the files that are not given up. */
function held(files: PayloadFiles): number[] {
	const hold = files.hold();
	hold.release();
	return hold.files().map(({ name }) => Number(name));
}
const names = (folder: string): number[] =>
	existsSync(folder)
		? readdirSync(folder)
				.map(Number)
				.toSorted((a, b) => a - b)
		: [];

async function site(
	referenced: [number, number][] = [],
	folder = join(parent, String((folders += 1))),
): Promise<{ folder: string; files: PayloadFiles }> {
	const files = await openPayloadFiles({ folder, referenced, segmentBytes: SEGMENT });
	onTestFinished(() => files.close());
	return { folder, files };
}

it("D5: a text is read as it was written, also while others are written", async () => {
	const { files } = await site();
	const texts = [0, 1, 300, 999, 5000, 700].map((length, n) => bytes(length, 10 * n));
	const written = await Promise.all(texts.map((text) => files.write(text)));
	const read = await Promise.all(written.map(({ block }) => files.read(block)));
	expect(read.map((text) => Buffer.concat(text))).toEqual(texts.map((text) => Buffer.concat(text)));
	const places = written.map(({ block }) => `${block.segment}:${block.at}`);
	expect(new Set(places.filter((_, n) => n > 0)).size).toBe(5);
});

it("D43: counts the bytes that stay because their file has another text", async () => {
	const { files } = await site();
	const [kept, dropped] = [await files.write(bytes(100, 1)), await files.write(bytes(700, 3))];
	files.referenced([[1, 800]]);
	for (const { settled: settle } of [kept, dropped]) settle();
	expect(files.unusedBytes).toBe(0);
	files.referenced([[1, 100]]);
	expect(files.unusedBytes).toBe(700);
	// Begins the next file, so that the first may go.
	await files.write(bytes(900, 5));
	files.referenced([[1, 0]]);
	await settled();
	expect(files.unusedBytes).toBe(900);
});

it("has no folder before the first text, and only the owner may read it", async () => {
	const { folder, files } = await site();
	expect(existsSync(folder)).toBe(false);
	await files.write(bytes(10, 1));
	expect(statSync(folder).mode & 0o777).toBe(0o700);
	expect(statSync(join(folder, "1")).mode & 0o777).toBe(0o600);
});

it("D40: a full file is removed when no row, write or read needs it", async () => {
	const { folder, files } = await site();
	const first = await files.write(bytes(450, 1));
	const kept = await files.write(bytes(450, 3));
	files.referenced([[1, 900]]);
	for (const each of [first, kept]) each.settled();
	const second = await files.write(bytes(900, 5));
	expect(names(folder)).toEqual([1, 2]);
	files.referenced([[1, 450]]);
	await settled();
	expect(held(files)).toEqual([1, 2]);
	expect(Buffer.concat(await files.read(kept.block))).toEqual(Buffer.concat(bytes(450, 3)));
	files.referenced([[1, 0]]);
	await until("the file to be removed", () => names(folder).join() === "2");
	// Full now, but its row may still be committed.
	expect((await files.write(bytes(900, 7))).block).toMatchObject({ segment: 3, at: 0 });
	await settled();
	expect(held(files)).toEqual([2, 3]);
	second.settled();
	await until("the file to be removed", () => names(folder).join() === "3");
});

it("D46: no file is removed while a copy of the store is read", async () => {
	const { folder, files } = await site();
	const text = bytes(900, 1);
	const { settled: done } = await files.write(text);
	files.referenced([[1, 900]]);
	done();
	const hold = files.hold();
	await files.write(bytes(900, 3));
	files.referenced([[1, 0]]);
	await settled();
	const [copy] = hold.files();
	expect(copy).toMatchObject({ name: "1", bytes: 900 });
	const read = [];
	for await (const piece of copy!.read()) read.push(piece);
	expect(Buffer.concat(read)).toEqual(Buffer.concat(text));
	hold.release();
	await until("the file to be removed", () => names(folder).join() === "2");
});

it("D46: a copy of a file ends with the last text that is flushed", async () => {
	const { files } = await site();
	const hold = files.hold();
	const first = bytes(100, 1);
	const begun = files.write(first);
	expect(hold.files()).toEqual([]);
	await begun;
	const next = files.write(bytes(800, 3));
	// A row can refer to the first text only; the next may fail, and leave less than its bytes.
	const [copy] = hold.files();
	const read = [];
	for await (const piece of copy!.read()) read.push(piece);
	expect([copy!.bytes, Buffer.concat(read)]).toEqual([100, Buffer.concat(first)]);
	await next;
	expect(hold.files()).toMatchObject([{ bytes: 900 }]);
	hold.release();
});

it("a file stays while it is read, whatever rows say meanwhile", async () => {
	const { files } = await site();
	const { block, settled: done } = await files.write(bytes(900, 1));
	files.referenced([[block.segment, 900]]);
	done();
	await files.write(bytes(900, 3));
	// In one turn: the last row goes, and a read begins that got its place before.
	files.referenced([[block.segment, 0]]);
	for (let n = 0; n < 10; n += 1) await Promise.resolve();
	const read = files.read(block);
	await settled();
	expect(Buffer.concat(await read)).toEqual(Buffer.concat(bytes(900, 1)));
	await settled();
	const missing = await files.read(block).catch((error: unknown) => error);
	expect(missing).toMatchObject({ why: "unreadable" });
	// Not the text, but its place is wrong: a job with it must not fail.
	expect(() => damageOf(missing)).toThrow("it is missing");
});

it("a start keeps the files that rows refer to, and numbers above all others", async () => {
	const { folder, files } = await site();
	const written = [];
	for (const n of [1, 2, 3]) written.push(await files.write(bytes(900, n)));
	await files.close();
	const again = await site([[2, 900]], folder);
	expect(Buffer.concat(await again.files.read(written[1]!.block))).toEqual(Buffer.concat(bytes(900, 2)));
	expect((await again.files.write(bytes(10, 9))).block.segment).toBe(4);
	expect(names(folder)).toEqual([2, 4]);
});

it("a start removes the files that no row refers to, and nothing else", async () => {
	const { folder, files } = await site();
	for (let n = 0; n < 4; n += 1) await files.write(bytes(900, n));
	await files.close();
	writeFileSync(join(folder, "note.txt"), "not ours");
	await site([[3, 900]], folder);
	expect(readdirSync(folder).toSorted()).toEqual(["3", "note.txt"]);
});

it("a folder that is named as a number is no payload file, and no file gets its name", async () => {
	const { folder, files } = await site();
	await files.write(bytes(900, 1));
	await files.close();
	mkdirSync(join(folder, "5"));
	const again = await site([[1, 900]], folder);
	expect((await again.files.write(bytes(10, 9))).block.segment).toBe(6);
	expect(readdirSync(folder).toSorted()).toEqual(["1", "5", "6"]);
	await expect(site([[5, 900]], folder)).rejects.toThrow("lacks the file 5");
});

it("D17: a start without the files that rows refer to is refused with what to do", async () => {
	const folder = join(parent, String((folders += 1)));
	await expect(site([[3, 10]], folder)).rejects.toThrow(
		`${folder} lacks the file 3, with inputs and results of at least 64 kB: the database was copied or ` +
			"restored without them. Copy this folder together with the database, or restore a backup.",
	);
});

it("D40: a text that was changed or cut on disk is not served", async () => {
	const { folder, files } = await site();
	const changed = await files.write(bytes(400, 1));
	const cut = await files.write(bytes(400, 3));
	writeFileSync(join(folder, "1"), Buffer.alloc(500, 1));
	await expect(files.read(changed.block)).rejects.toMatchObject({
		why: "damaged",
		message: `${join(folder, "1")} is damaged: its bytes 0 to 400 are not those that were written. Restore a backup.`,
	});
	truncateSync(join(folder, "1"), 500);
	await expect(files.read(cut.block)).rejects.toMatchObject({
		why: "damaged",
		message: `${join(folder, "1")} is damaged: it ends after 500 bytes. Restore a backup.`,
	});
	for (const { block } of [changed, cut])
		expect(damageOf(await files.read(block).catch((error: unknown) => error))).toContain("is damaged: it");
});

it("D40: a write that fails is refused, and the next one goes to another file", async () => {
	const { folder, files } = await site();
	const first = await files.write(bytes(10, 1));
	rmSync(folder, { recursive: true });
	writeFileSync(folder, "in the way");
	await expect(files.write(bytes(1000, 2))).rejects.toMatchObject({
		why: "unwritable",
		message: expect.stringContaining(`${folder} cannot be written: `),
	});
	rmSync(folder);
	expect((await files.write(bytes(1000, 2))).block.segment).toBeGreaterThan(first.block.segment);
});

it("D17: a text in a file that was deleted or replaced is not acknowledged", async () => {
	const { folder, files } = await site();
	await files.write(bytes(10, 1));
	rmSync(join(folder, "1"));
	const refused = {
		why: "unwritable",
		message: expect.stringContaining("/1 was deleted, moved or replaced"),
	};
	await expect(files.write(bytes(10, 1))).rejects.toMatchObject(refused);
	const next = await files.write(bytes(10, 1));
	expect(next.block.segment).toBe(2);
	rmSync(join(folder, "2"));
	writeFileSync(join(folder, "2"), Buffer.alloc(100));
	await expect(files.write(bytes(10, 1))).rejects.toMatchObject({ why: "unwritable" });
});

it("after close a write is refused as closed", async () => {
	const { files } = await site();
	await files.close();
	await expect(files.write(bytes(10, 1))).rejects.toMatchObject({ why: "closed" });
});

it("calls share the work that begins after them", async () => {
	const started: PromiseWithResolvers<void>[] = [];
	const flush = grouped(() => {
		const work = Promise.withResolvers<void>();
		started.push(work);
		return work.promise;
	});
	const first = flush();
	const others = [flush(), flush()];
	expect(started).toHaveLength(1);
	started[0]!.reject(new Error("failed"));
	await expect(first).rejects.toThrow("failed");
	expect(started).toHaveLength(2);
	started[1]!.resolve();
	await Promise.all(others);
	const last = flush();
	expect(started).toHaveLength(3);
	started[2]!.resolve();
	await last;
});
