/**
 * A real Docker daemon for tests, where there is one, called with Docker's own command, and an image
 * made of what this machine has: node, a shell, their libraries. Nothing is pulled.
 */
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** The image: `/bin/node`, `/bin/sh` and `/bin/sleep`. */
export const IMAGE = `sluice-test-worker:node-${process.versions.node}`;

/**
 * A script of its shell that the kernel ends at once for the memory it takes. Node may need longer:
 * near the limit the kernel drops the pages of its large program and reads them from the disk again.
 */
export const TAKES_ALL_MEMORY = "x=x; while :; do x=$x$x; done";

/** Runs `docker` with these arguments and returns its output. */
export async function docker(...args: string[]): Promise<string> {
	return (await promisify(execFile)("docker", args)).stdout.trim();
}

/** With the daemon at this address. */
export async function dockerAt(host: string, ...args: string[]): Promise<string> {
	return await docker("--host", host, ...args);
}

/** Why tests with containers cannot run here; undefined where they can. */
export const noDocker: string | undefined = await reason();

async function reason(): Promise<string | undefined> {
	if (process.platform !== "linux") return "the image is made of this machine's own programs, which are not for Linux";
	try {
		await docker("version");
		return undefined;
	} catch (error) {
		const { stderr, message } = error as Error & { stderr?: string };
		return `no Docker daemon answers: ${(stderr || message).trim()}`;
	}
}

/** The title of a suite, with the reason why it does not run. */
export function titled(title: string): string {
	return noDocker === undefined ? title : `${title} (skipped: ${noDocker})`;
}

/** Makes the image if it is not there. `host`: another daemon than the default one. */
export async function makeImage(host?: string): Promise<void> {
	const where = host === undefined ? [] : ["--host", host];
	if ((await docker(...where, "images", "--quiet", IMAGE)) !== "") return;
	const root = mkdtempSync(join(tmpdir(), "sluice-image-"));
	try {
		for (const [program, place] of [
			[process.execPath, "/bin/node"],
			["/bin/sh", "/bin/sh"],
			["/bin/sleep", "/bin/sleep"],
		] as const) {
			put(root, program, place);
			for (const [library] of execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/\/\S+/g))
				put(root, library, library);
		}
		mkdirSync(join(root, "tmp"), { mode: 0o1777 });
		const command = `root=$0; image=$1; shift; tar -C "$root" -cf - . | docker "$@" import - "$image"`;
		execFileSync("sh", ["-c", command, root, IMAGE, ...where]);
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}

function put(root: string, from: string, to: string): void {
	const target = join(root, to);
	if (existsSync(target)) return;
	mkdirSync(dirname(target), { recursive: true });
	copyFileSync(from, target);
}

/** Ids of the containers with this label, running or not. */
export async function containersOf(label: string): Promise<string[]> {
	const ids = await docker("ps", "--all", "--quiet", "--no-trunc", "--filter", `label=${label}`);
	return ids.split("\n").filter((id) => id !== "");
}

/** How many processes run in the containers of a worker, without init processes and the pauses of scripts. */
export async function processesOf(workerId: string): Promise<number> {
	let count = 0;
	for (const id of await containersOf(`sluice.worker=${workerId}`)) count += await processesIn(id);
	return count;
}

/** As {@link processesOf}, in one container by id or name, 0 if it is missing. `run`: `docker` of another daemon. */
export async function processesIn(container: string, run = docker): Promise<number> {
	const rows = (await run("top", container, "-eo", "pid,args").catch(() => "")).split("\n").slice(1);
	const commands = rows.map((row) => row.replace(/^\s*\d+\s+/, ""));
	return commands.filter((each) => !/^(\/sbin\/docker-init|sleep 0)/.test(each)).length;
}

/** Removes all containers with this label. */
export async function removeAll(label: string): Promise<void> {
	for (const id of await containersOf(label)) await docker("rm", "--force", id).catch(() => {});
}
