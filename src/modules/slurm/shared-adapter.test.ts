/** The adapter's program in a shared folder, with small files in the place of Node and the kit. */
import { createHash } from "node:crypto";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sharedAdapter } from "./shared-adapter.ts";

/** Longer than what is written in one call. */
const NODE_BYTES = 9 * 1024 * 1024 + 7;

function scene() {
	const root = mkdtempSync(join(tmpdir(), "sluice-adapter-"));
	onTestFinished(() => rmSync(root, { recursive: true, force: true }));
	const kit = join(root, "dist/worker");
	const node = join(root, "node-24");
	const shared = join(root, "shared");
	for (const folder of [join(kit, "types"), shared]) mkdirSync(folder, { recursive: true, mode: 0o700 });
	const bytes = Buffer.alloc(NODE_BYTES);
	for (let at = 0; at < bytes.length; at += 1009) bytes[at] = at % 251;
	writeFileSync(node, bytes, { mode: 0o755 });
	writeFileSync(join(root, "package.json"), '{"type":"module"}');
	for (const name of ["sluice-http.js", "index.js", "types/a.d.ts"]) writeFileSync(join(kit, name), `// ${name}`);
	const open = () => sharedAdapter({ kit, node });
	const put = (adapter = open(), serviceId = "s", sharedDir = shared): Promise<string[]> =>
		adapter.commandFor({ settings: { type: "slurm", sharedDir }, serviceId });
	return { kit, node, shared, open, put };
}

const hashOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("sharedAdapter", () => {
	it("puts Node, the kit and its package.json into a folder of their version, for this user only", async () => {
		const { node, shared, put } = scene();
		const [program = "", entry = ""] = await put();
		const folder = dirname(program);
		expect([program, entry]).toEqual([join(folder, "node"), join(folder, "sluice-http.js")]);
		expect(dirname(folder)).toBe(join(shared, "sluice-adapter"));
		expect(readdirSync(folder).toSorted()).toEqual(["index.js", "node", "package.json", "sluice-http.js"]);
		expect(hashOf(program)).toBe(hashOf(node));
		expect(readFileSync(entry, "utf8")).toBe("// sluice-http.js");
		expect([program, entry, folder, dirname(folder)].map(modeOf)).toEqual([0o700, 0o600, 0o700, 0o700]);
	});

	it("copies once, and again what is missing or cut short", async () => {
		const { shared, open, put } = scene();
		const adapter = open();
		const [[program = "", entry = ""]] = await Promise.all([put(adapter), put(adapter), put(open(), "other")]);
		const before = statSync(program);
		expect(await put(adapter)).toEqual([program, entry]);
		expect(statSync(program)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
		truncateSync(program, NODE_BYTES - 1);
		rmSync(entry);
		await put(adapter);
		expect([statSync(program).size, existsSync(entry)]).toEqual([NODE_BYTES, true]);
		expect(statSync(program).ino).not.toBe(before.ino);
		expect(readdirSync(join(shared, "sluice-adapter"))).toHaveLength(1);
		expect(readdirSync(dirname(program))).toHaveLength(4);
	});

	it("a file has its name only once it is complete; the next copy begins again", async () => {
		const { node, put, open } = scene();
		const adapter = open();
		const [program = ""] = await put(adapter);
		rmSync(program);
		writeFileSync(`${program}.s`, "half of a copy that was ended");
		truncateSync(node, NODE_BYTES - 5);
		await expect(put(adapter)).rejects.toThrow(
			/^the adapter \(130 MB\) cannot be put into \S+sluice-adapter: \S+node-24 has changed since .*: restart it; /,
		);
		expect(readdirSync(dirname(program))).toHaveLength(3);
		const [next = ""] = await put(open());
		expect(dirname(next)).not.toBe(dirname(program));
		expect(hashOf(next)).toBe(hashOf(node));
	});

	it("another version has another folder", async () => {
		const { kit, put } = scene();
		const [first = ""] = await put();
		writeFileSync(join(kit, "index.js"), "// inDEX.js");
		const [second = ""] = await put();
		expect(dirname(second)).not.toBe(dirname(first));
		expect(existsSync(first)).toBe(true);
	});

	it("D26: refuses a folder that others can write, or that is a link", async () => {
		const { shared, put } = scene();
		const [program = ""] = await put();
		const folder = join(shared, "sluice-adapter");
		chmodSync(folder, 0o770);
		await expect(put()).rejects.toThrow(`run chmod 700 ${folder}`);
		chmodSync(folder, 0o700);
		const elsewhere = join(shared, "elsewhere");
		mkdirSync(elsewhere, { mode: 0o700 });
		rmSync(folder, { recursive: true });
		symlinkSync(elsewhere, folder);
		await expect(put()).rejects.toThrow(`the link ${folder} belongs to`);
		expect(readdirSync(elsewhere)).toEqual([]);
		expect(basename(program)).toBe("node");
	});

	it("D29: says which folder is missing, and does not create it", async () => {
		const { shared, open, put } = scene();
		const absent = join(shared, "unmounted");
		const adapter = open();
		await expect(put(adapter, "s", absent)).rejects.toThrow(
			`the adapter (130 MB) cannot be put into ${absent}/sluice-adapter: ENOENT`,
		);
		expect(existsSync(absent)).toBe(false);
		mkdirSync(absent, { mode: 0o700 });
		expect(await put(adapter, "s", absent)).toHaveLength(2);
	});
});
