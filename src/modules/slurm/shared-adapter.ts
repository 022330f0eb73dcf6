/**
 * The adapter's program in the folder that service and nodes share (decision 0063): the Node that runs this service,
 * and the worker kit, so that nodes need neither. A file gets its name when it is complete.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { adapterKit } from "../../kernel/launchers/adapter-program.ts";
import { sharedGroup } from "../../kernel/launchers/logs/log-files.ts";
import { fileCalls } from "../../kernel/system/file-calls.ts";
import type { SlurmSpec } from "./script.ts";
import { checkFolder } from "./shared-folder.ts";

interface ProgramFile {
	name: string;
	from: string;
	bytes: number;
	mode: number;
}

interface Program {
	/** What it is made from: the worker kit, and the version, processor and size of Node. */
	hash: string;
	files: readonly ProgramFile[];
}

/** The file of this process, also where an upgrade has replaced it since. */
const OWN_NODE = "/proc/self/exe";

const FOLDER = "sluice-adapter";
const NODE = "node";
const ENTRY = "sluice-http.js";

/** What one call writes: it must end within 5 s. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** A call returns when its piece is durable, so that no later call has to flush all. Never through a link. */
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_DSYNC | constants.O_NOFOLLOW;

export type SharedAdapter = ReturnType<typeof sharedAdapter>;

/** `kit`: the folder of the worker kit, two below its package. */
export function sharedAdapter({ kit = adapterKit(), node = OWN_NODE }: { kit?: string; node?: string } = {}) {
	let program: Promise<Program> | undefined;
	/** In progress, by folder. */
	const copies = new Map<string, Promise<void>>();

	function readOnce(): Promise<Program> {
		program ??= readProgram(kit, node).catch((error: unknown) => {
			program = undefined;
			throw error;
		});
		return program;
	}

	return {
		/**
		 * Returns the command that runs the adapter on a node, after what is missing of its files was copied. Rejects with
		 * a sentence.
		 */
		async commandFor({ settings: { sharedDir }, serviceId }: Pick<SlurmSpec, "settings" | "serviceId">) {
			try {
				const { hash, files } = await readOnce();
				const folder = join(sharedDir, FOLDER, hash);
				const copy = copies.get(folder) ?? complete(files, { sharedDir, folder, owner: serviceId });
				copies.set(folder, copy);
				await copy.finally(() => copies.delete(folder));
				return [NODE, ENTRY].map((name) => join(folder, name));
			} catch (cause) {
				throw new Error(
					`the adapter (130 MB) cannot be put into ${join(sharedDir, FOLDER)}: ${(cause as Error).message}; to use ` +
						"one that the nodes have, set launcher.adapterCommand",
					{ cause },
				);
			}
		},
	};
}

async function readProgram(kit: string, node: string): Promise<Program> {
	const { size } = await fileCalls.run(node, () => stat(node));
	const entries = await fileCalls.run(kit, () => readdir(kit, { withFileTypes: true }));
	const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
	// Without "type": "module" of the package, Node would go by a package.json that is above the shared folder.
	const paths = [join(kit, "../../package.json"), ...names.toSorted().map((name) => join(kit, name))];
	const hash = createHash("sha256").update(JSON.stringify([process.version, process.arch, size]));
	const files: ProgramFile[] = [{ name: NODE, from: node, bytes: size, mode: 0o700 }];
	for (const from of paths) {
		const bytes = await fileCalls.run(from, () => readFile(from));
		const name = from.slice(dirname(from).length + 1);
		hash.update(`${name}\0${bytes.length}\0`).update(bytes);
		files.push({ name, from, bytes: bytes.length, mode: 0o600 });
	}
	return { hash: hash.digest("hex").slice(0, 16), files };
}

/** Copies files that are missing or have another size: folders for scratch data lose old files. */
async function complete(
	files: readonly ProgramFile[],
	{ sharedDir, folder, owner }: { sharedDir: string; folder: string; owner: string },
): Promise<void> {
	const group = sharedGroup(folder);
	const isThere = async ({ name, bytes }: ProgramFile): Promise<boolean> => {
		const path = join(folder, name);
		const found = await fileCalls.run(path, () => lstat(path), group).catch(unlessAbsent);
		return found?.isFile() === true && found.size === bytes;
	};
	await checkFolder(sharedDir, folder);
	const areThere = await Promise.all(files.map(isThere));
	const missing = files.filter((_, index) => !areThere[index]);
	if (missing.length === 0) return;
	for (const path of [dirname(folder), folder])
		await fileCalls.run(path, () => mkdir(path, { mode: 0o700 }), group).catch(unlessThere);
	// Another user may have created one meanwhile.
	await checkFolder(sharedDir, folder);
	for (const file of missing) {
		const path = join(folder, file.name);
		const part = `${path}.${owner}`;
		try {
			await copy(file, part, group);
			// What another service has put there meanwhile may run already.
			if (!(await isThere(file))) await fileCalls.run(path, () => rename(part, path), group);
		} finally {
			await fileCalls.run(part, () => rm(part, { force: true }), group).catch(() => {});
		}
	}
}

async function copy({ from, bytes, mode }: ProgramFile, to: string, group: string): Promise<void> {
	const source = await fileCalls.open(from, constants.O_RDONLY);
	try {
		const target = await fileCalls.open(to, WRITE, { group, mode });
		try {
			const buffer = Buffer.alloc(Math.min(PIECE_BYTES, bytes));
			let at = 0;
			while (at < bytes) {
				const { bytesRead } = await fileCalls.run(from, () => source.read(buffer, 0, buffer.length, at));
				if (bytesRead === 0) throw new Error(`${from} has changed since the service started: restart it`);
				at += (await fileCalls.run(to, () => target.write(buffer, 0, bytesRead), group)).bytesWritten;
			}
		} finally {
			await fileCalls.run(to, () => target.close(), group);
		}
	} finally {
		source.close().catch(() => {});
	}
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
	if (error.code !== "ENOENT") throw error;
}

function unlessThere(error: NodeJS.ErrnoException): undefined {
	if (error.code !== "EEXIST") throw error;
}
