/** What other modules do with files: they read those of clients, and make some (D57). */
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ApiError } from "../../../../src/kernel/core/errors.ts";
import type { StoredFiles, WrittenFile } from "../../../../src/kernel/engine/stored-files.ts";
import type { FileRow } from "../../../../src/kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../../../src/kernel/store/contract/store.ts";
import { advanceUntil, manualClock } from "../../../support/manual-clock.ts";
import { startService, type TestService } from "../../../support/service.ts";
import { ON_POSTGRES } from "../../../support/service-store.ts";
import { endWith } from "../../hand-worker.ts";
import { clientOf, contentOf, sendForm } from "./files-client.ts";

const MB = 2 ** 20;
const HOUR = 3_600_000;
const clock = manualClock();
let service: TestService;
let files: StoredFiles;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {}, other: {} },
		settings: { files: { endpointMb: 9, totalMb: 20 } },
		clock,
		pauseMs: Infinity,
	});
	files = service.engine.kernel.hooks.files!;
});
afterAll(() => endWith(service, clock));

/** 3 MB in which no two pieces are alike. */
const CONTENT = Buffer.from(Array.from({ length: 3 * (MB / 8) }, (_, n) => `${n}`.padStart(8, "0")).join(""));

/** In pieces that fit no block of a store. */
async function* pieces(error?: Error): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < CONTENT.length; at += 700_000) yield CONTENT.subarray(at, at + 700_000);
	if (error) throw error;
}

/** Stores the row of bytes that were written. */
async function stored({ id, bytes }: WrittenFile, given: Partial<FileRow> = {}): Promise<FileRow> {
	const createdAt = service.engine.now();
	const row = { id, bytes, endpoint: "ep", name: "out.jsonl", purpose: "batch", type: "text/plain", key: "k" };
	const q = { row: { ...row, createdAt, ...given }, ...files.bounds };
	expect(await service.engine.kernel.store.files.insert(q)).toBe("inserted");
	return q.row;
}

async function read(file: Pick<FileRow, "id" | "bytes">, start: number, end: number): Promise<Buffer> {
	const reader = await files.open(file, { start, end });
	try {
		return Buffer.concat(await Array.fromAsync(reader));
	} finally {
		await reader.close();
	}
}

/** Ids of the files of which the store has bytes. */
async function withBytes(...ids: string[]): Promise<string[]> {
	const { filesFolder, pieces: rows } = service.engine.kernel.store;
	if (!rows) return readdirSync(filesFolder!.path);
	const found: string[] = [];
	for (const file of ids) if (await rows.get({ file, number: 0, into: Buffer.alloc(0) })) found.push(file);
	return found;
}

it("D57: bytes that a module writes become a file with its row, for modules and clients alike", async () => {
	const written = await files.write(pieces());
	expect(written).toMatchObject({ id: expect.stringMatching(/^file-[0-9a-f]{32}$/), bytes: CONTENT.length });
	await expect(files.find("ep", written.id)).rejects.toMatchObject({ code: "file_not_found" });
	const row = await stored(written);
	written.done();
	expect(await files.find("ep", written.id)).toMatchObject(row);
	await expect(files.find("other", written.id)).rejects.toBeInstanceOf(ApiError);
	for (const [start, end] of [
		[0, CONTENT.length],
		[MB - 3, 2 * MB + 3],
		[CONTENT.length - 1, CONTENT.length],
	] as const)
		expect((await read(row, start, end)).equals(CONTENT.subarray(start, end)), `${start} to ${end}`).toBe(true);
	const client = clientOf(service, "ep");
	expect((await contentOf(client, row.id)).equals(CONTENT)).toBe(true);
	await service.engine.kernel.store.files.remove({ endpoint: "ep", id: row.id, now: service.engine.now() });
	await files.remove(row.id);
	expect(await withBytes(row.id)).toEqual([]);
});

it("D57: a module finds and reads a file of a client, and what is missing of it is an error", async () => {
	const { json } = await sendForm(service, [
		["purpose", "batch"],
		["file", new File(["0123456789"], "a.jsonl")],
	]);
	const row = await files.find("ep", json.id);
	expect(row).toMatchObject({ name: "a.jsonl", purpose: "batch", bytes: 10 });
	expect(String(await read(row, 3, 6))).toBe("345");
	expect(String(await read(row, 4, 4))).toBe("");
	await files.remove(row.id);
	await expect(read(row, 0, 10)).rejects.toMatchObject({ code: "file_missing" });
	await clientOf(service, "ep").files.delete(row.id);
});

it("D57: what is not stored in the end leaves no bytes, at the error of a module too", async () => {
	const written = await files.write(pieces());
	expect(await withBytes(written.id)).toEqual([written.id]);
	await written.drop();
	await expect(files.write(pieces(new Error("of the module")))).rejects.toThrow("of the module");
	expect(await withBytes(written.id)).toEqual([]);
	expect(await service.engine.kernel.store.pieces?.sweep({ before: Number.MAX_SAFE_INTEGER })).toBe(
		ON_POSTGRES ? 0 : undefined,
	);
});

it("D41, D57: while little space is free nothing is written, and the module learns of an outage", async () => {
	const { space } = service.engine.kernel;
	const { admit } = space;
	let left = 2;
	space.admit = () => {
		if (left === 0) throw new ApiError("store_unavailable", { why: "only 1 MiB are free" });
		left -= 1;
	};
	try {
		for (const n of [1, 2]) {
			const error: unknown = await files.write(pieces()).catch((reason: unknown) => reason);
			expect(error, `write ${n}`).toBeInstanceOf(StoreUnavailable);
			expect(error).toMatchObject({ why: "full", message: expect.stringContaining("only 1 MiB are free") });
		}
	} finally {
		space.admit = admit;
	}
	expect(await withBytes()).toEqual([]);
});

it("D56, D57: the bounds are those of the settings", () => {
	expect(files.bounds).toEqual({ maxBytes: 512 * MB, endpointBytes: 9 * MB, totalBytes: 20 * MB });
});

it.skipIf(ON_POSTGRES)("D57: the sweep leaves bytes alone whose row is still to be stored", async () => {
	const written = await files.write(pieces());
	const folder = service.engine.kernel.store.filesFolder!.path;
	const other = `file-${"2".repeat(32)}`;
	// When the second sweep has removed the other file, the first one is over.
	for (let sweeps = 0; sweeps < 2; sweeps += 1) {
		writeFileSync(join(folder, other), "x");
		for (const id of [written.id, other]) utimesSync(join(folder, id), 1, 1);
		await clock.leap(HOUR);
		await advanceUntil(clock, async () => !(await withBytes()).includes(other), 0);
		expect(await withBytes()).toEqual([written.id]);
	}
	await written.drop();
});
