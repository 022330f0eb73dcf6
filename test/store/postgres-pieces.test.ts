/** Reads of pieces of files whose connection, or whose server, is lost in the middle (D56). */
import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { rowContents } from "../../src/modules/files/contents/rows.ts";
import { PIECE_BYTES } from "../../src/kernel/store/contract/files.ts";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { opened, place } from "./postgres-proxied.ts";
import { T0 } from "./site.ts";

const FILE = `file-${"1".repeat(32)}`;
const PIECES = 4;
const CONTENT = randomBytes(PIECES * PIECE_BYTES);
const pieceAt = (number: number): Buffer => CONTENT.subarray(number * PIECE_BYTES, (number + 1) * PIECE_BYTES);

async function put({ pieces }: Store): Promise<void> {
	for (let number = 0; number < PIECES; number += 1)
		await pieces!.put({ file: FILE, number, bytes: pieceAt(number), now: T0 });
}

it("D56: a piece whose connection is cut in the middle is read again, whole", async () => {
	const { proxy, store, other } = await place();
	await put(other);
	const into = Buffer.alloc(PIECE_BYTES);
	for (const bytes of [300_000, 65_537, 10]) {
		into.fill(0);
		const cut = proxy.cutAfter(bytes);
		expect(await store.pieces!.get({ file: FILE, number: 2, into })).toBe(PIECE_BYTES);
		await cut;
		expect(into.equals(pieceAt(2)), `after ${bytes} bytes`).toBe(true);
	}
});

it("D56: names and bytes are those that were put; a piece that does not fit is known by its size", async () => {
	const { other } = await place();
	const pieces = other.pieces!;
	for (const [number, file] of ["a'b", "a\\b", "a\\'; SELECT 1; --", "ü"].entries()) {
		const into = Buffer.alloc(20);
		const get = (at: number) => pieces.get({ file, number: at, into });
		expect(await get(number)).toBeUndefined();
		const bytes = Buffer.from([0, 0xff, 0x5c, 0x80, number]);
		await pieces.put({ file, number, bytes, now: T0 });
		expect(await get(number)).toBe(5);
		expect(into.subarray(0, 6).equals(Buffer.from([...bytes, 0]))).toBe(true);
		await pieces.put({ file, number, bytes: Buffer.alloc(21, "x"), now: T0 });
		into.fill(0);
		expect(await get(number)).toBe(21);
		expect(into.equals(Buffer.alloc(20))).toBe(true);
	}
});

it("D56: a PostgreSQL that dies in the middle of a download is an outage, and the next download is whole", async () => {
	const server = await startPostgres();
	onTestFinished(() => server.remove());
	const store = await opened((await server.createDatabase()).url);
	await put(store);
	const contents = rowContents(store.pieces!, () => T0);
	const file = { id: FILE, bytes: CONTENT.length };
	const range = { start: 0, end: CONTENT.length };
	const reader = (await contents.open(file, range))[Symbol.asyncIterator]();
	expect(Buffer.from((await reader.next()).value!).equals(pieceAt(0))).toBe(true);
	await server.crash();
	// The piece that was read ahead may have arrived.
	const left = async (): Promise<void> => {
		while (!(await reader.next()).done);
	};
	await expect(left()).rejects.toBeInstanceOf(StoreUnavailable);
	await server.start();
	// While it recovers, downloads are refused.
	const answers = (): Promise<boolean> =>
		contents.open(file, range).then(
			(opened) => opened.close().then(() => true),
			() => false,
		);
	await expect.poll(answers).toBe(true);
	const pieces: Buffer[] = [];
	for await (const piece of await contents.open(file, range)) pieces.push(Buffer.from(piece));
	expect(Buffer.concat(pieces).equals(CONTENT)).toBe(true);
});
