/** Archives that are truncated, changed, of other contents or of a newer form. */
import { createHash } from "node:crypto";
import { packTar } from "modern-tar";
import { describe, expect, it } from "vitest";
import { BadArchive, readArchive } from "./read-archive.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const INFO = JSON.stringify({
	format: 1,
	sluice: "0.1.0",
	migration: 14,
	madeAt: "2026-01-01T00:00:00.000Z",
});
const DATABASE = "SQLite format 3\0".repeat(40);

/** `sums` default to those of the entries. */
function archive(
	entries: Record<string, string> = {},
	{ sums = true, type }: { sums?: boolean | string; type?: "symlink" } = {},
): Promise<Uint8Array> {
	const all = { "backup.json": INFO, "sluice.db": DATABASE, ...entries };
	const list = Object.entries(all)
		.map(([name, text]) => `${sha256(text)}  ${name}\n`)
		.join("");
	const last: [string, string][] = sums === false ? [] : [["SHA256SUMS", sums === true ? list : sums]];
	return packTar(
		[...Object.entries(all), ...last].map(([name, body]) => ({
			header:
				type && name === "link"
					? { name, type, size: 0, linkname: "/etc/passwd" }
					: { name, size: Buffer.byteLength(body), mtime: new Date(0) },
			body,
		})),
	);
}

const pieces = (bytes: Uint8Array, size = 700): AsyncIterable<Uint8Array> =>
	(async function* () {
		for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
	})();

const read = (bytes: Uint8Array): ReturnType<typeof readArchive> => readArchive(pieces(bytes));

describe("D46: an archive", () => {
	it("is read with its files, whatever the size of the pieces", async () => {
		const bytes = await archive({ "payloads/1": "x" });
		for (const size of [1, 511, 512, 513, 1e6]) {
			const content = new Map<string, string>();
			const { info, files } = await readArchive(pieces(bytes, size), async (name, parts) => {
				let text = "";
				for await (const part of parts) text += Buffer.from(part).toString();
				content.set(name, text);
			});
			expect(info).toMatchObject({ format: 1, migration: 14 });
			expect(files.map(({ name }) => name)).toEqual(["sluice.db", "payloads/1"]);
			expect(content.get("sluice.db")).toBe(DATABASE);
		}
	});

	it("is refused when it was truncated, wherever", { timeout: 30_000 }, async () => {
		const bytes = await archive();
		for (let size = 0; size < bytes.length; size += 97)
			await expect(read(bytes.subarray(0, size)), String(size)).rejects.toThrow(BadArchive);
	});

	it("is refused when a bit of a content, a name or a size was flipped, and never changes one", {
		timeout: 60_000,
	}, async () => {
		const bytes = await archive();
		let refused = 0;
		for (let at = 0; at < bytes.length; at += 1) {
			const changed = bytes.slice();
			changed[at]! ^= 1 << (at % 8);
			const content: string[] = [];
			const ok = await readArchive(pieces(changed), async (_, parts) => {
				for await (const part of parts) content.push(Buffer.from(part).toString());
			}).then(
				() => true,
				(error: unknown) => {
					expect(error).toBeInstanceOf(BadArchive);
					return false;
				},
			);
			if (ok) expect(content.join("")).toBe(DATABASE);
			else refused += 1;
		}
		// The rest is padding, and the ends of numbers in headers.
		expect(refused).toBeGreaterThan(INFO.length + DATABASE.length + 3 * 500);
	});

	it.each<[string, Parameters<typeof archive>, RegExp]>([
		["a newer form", [{ "backup.json": INFO.replace('"format":1', '"format":2') }], /newer form \(2/],
		["a file that is not listed", [{}, { sums: `${sha256(INFO)}  backup.json\n` }], /not listed/],
		["no list", [{}, { sums: false }], /it was truncated/],
		["a path out of its folder", [{ "../x": "1" }], /it contains '\.\.\/x'/],
		["an absolute path", [{ "/etc/x": "1" }], /it contains '\/etc\/x'/],
		["a key", [{ "secret/x": "1" }], /it contains 'secret\/x'/],
		["a log", [{ "sluice.db-wal": "1" }], /it contains 'sluice\.db-wal'/],
		["a folder of a log", [{ "wal/x": "1" }], /it contains 'wal\/x'/],
		["a payload file without a number", [{ "payloads/x": "1" }], /it contains 'payloads\/x'/],
		["a link", [{ link: "" }, { type: "symlink" }], /it contains 'link'/],
		["unreadable information", [{ "backup.json": "[]" }], /backup\.json cannot be read/],
	])("is refused with %s", async (_, args, message) => {
		await expect(read(await archive(...args))).rejects.toThrow(message);
	});
});
