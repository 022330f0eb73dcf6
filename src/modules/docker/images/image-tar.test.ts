import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { unpackTar } from "modern-tar";
import { expect, it, onTestFinished } from "vitest";
import { type ImageFile, tarOf } from "./image-tar.ts";

function diskFile(bytes: Buffer): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-tar-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "node"), bytes);
	return join(folder, "node");
}

it("has each folder with its mode before what is in it, and the files as they are", async () => {
	const program = Buffer.alloc(700_001, 7);
	const parts: number[] = [];
	const files: ImageFile[] = [
		{ path: "/usr/bin/node", mode: 0o755, from: { file: diskFile(program) } },
		{ path: "/etc/passwd", mode: 0o644, from: Buffer.from("root") },
	];
	const tar = await buffer(tarOf(files, (part) => parts.push(part)));
	const entries = await unpackTar(tar);
	expect(entries.map(({ header }) => [header.name, header.type, header.mode])).toEqual([
		["etc/", "directory", 0o755],
		["tmp/", "directory", 0o1777],
		["usr/", "directory", 0o755],
		["usr/bin/", "directory", 0o755],
		["usr/bin/node", "file", 0o755],
		["etc/passwd", "file", 0o644],
	]);
	expect(Buffer.from(entries[4]!.data!).equals(program)).toBe(true);
	expect(parts.at(-1)).toBe(1);
	expect(parts).toEqual(parts.toSorted((a, b) => a - b));
	expect((await buffer(tarOf(files, () => {}))).equals(tar), "the same files make the same tar").toBe(true);
});

it("ends with the error of a file that cannot be read", async () => {
	const files: ImageFile[] = [{ path: "/a", mode: 0o644, from: { file: "/no/such/file" } }];
	await expect(buffer(tarOf(files, () => {}))).rejects.toThrow("ENOENT");
});
