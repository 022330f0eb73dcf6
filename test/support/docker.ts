/**
 * A real Docker daemon for tests, where there is one, and an image made of what this machine has:
 * node, a shell, their libraries. Nothing is pulled.
 */
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Docker from "dockerode";

/** The image: `/bin/node`, `/bin/sh` and `/bin/sleep`. */
export const IMAGE = `sluice-test-worker:node-${process.versions.node}`;

/** The daemon that `DOCKER_HOST` names, or the one of this machine. */
export const docker = new Docker();

/** Why tests with containers cannot run here; undefined where they can. */
export const noDocker: string | undefined = await reason();

async function reason(): Promise<string | undefined> {
	if (process.platform !== "linux")
		return "the image is made of this machine's own programs, which are not for Linux";
	try {
		await docker.ping();
		return undefined;
	} catch (error) {
		return `no Docker daemon answers: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
	}
}

/** The title of a suite, with the reason why it does not run. */
export function titled(title: string): string {
	return noDocker === undefined ? title : `${title} (skipped: ${noDocker})`;
}

/** Makes the image if it is not there. */
export async function makeImage(): Promise<void> {
	if (
		await docker
			.getImage(IMAGE)
			.inspect()
			.catch(() => undefined)
	)
		return;
	const root = mkdtempSync(join(tmpdir(), "sluice-image-"));
	try {
		for (const [program, place] of [
			[process.execPath, "/bin/node"],
			["/bin/sh", "/bin/sh"],
			["/bin/sleep", "/bin/sleep"],
		] as const) {
			put(root, program, place);
			for (const [library] of execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(
				/\/\S+/g,
			))
				put(root, library, library);
		}
		mkdirSync(join(root, "tmp"), { mode: 0o1777 });
		const tar = spawn("tar", ["-C", root, "-cf", "-", "."], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		const [repo, tag] = IMAGE.split(":") as [string, string];
		const answer = await docker.importImage(tar.stdout, { repo, tag });
		for await (const _ of answer);
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

/** Containers with these labels, running or not. */
export async function containersOf(...labels: string[]): Promise<Docker.ContainerInfo[]> {
	return await docker.listContainers({ all: true, filters: { label: labels } });
}

/**
 * How many processes run in the containers of a worker, init processes and the naps of scripts left
 * out.
 */
export async function processesOf(workerId: string): Promise<number> {
	let count = 0;
	for (const { Id } of await containersOf(`sluice.worker=${workerId}`)) {
		const top = (await docker
			.getContainer(Id)
			.top()
			.catch(() => undefined)) as { Processes: string[][] } | undefined;
		count +=
			top?.Processes.filter((row) => !/^(\/sbin\/docker-init|sleep 0)/.test(row.at(-1)!)).length ??
			0;
	}
	return count;
}

/** Removes all containers with this label. */
export async function removeAll(label: string): Promise<void> {
	for (const { Id } of await containersOf(label))
		await docker
			.getContainer(Id)
			.remove({ force: true })
			.catch(() => {});
}
