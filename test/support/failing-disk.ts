/**
 * Disks that fail under a running process: `strace` makes its system calls on a file fail, and small
 * file systems of their own are full or can only be read.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

/** Runs a command; the sentence that says why it failed, if it did. */
export function trouble(...[file, ...args]: [string, ...string[]]): string | undefined {
	try {
		execFileSync(file, args, { stdio: "pipe" });
		return undefined;
	} catch (error) {
		return `${file}: ${(error as Error).message.split("\n")[1] ?? (error as Error).message}`;
	}
}

const CALLS = {
	write: "write,pwrite64,pwritev,pwritev2",
	flush: "fsync,fdatasync",
};

/** These calls of the process on this file fail with EIO until the returned function is called. */
export const failing = (process: { child: ChildProcess }, calls: keyof typeof CALLS, path: string) =>
	injected(process, calls, path, "error=EIO");

/** Flushes of this file take so much longer until the returned function is called. */
export const slowFlushes = (process: { child: ChildProcess }, path: string, ms: number) =>
	injected(process, "flush", path, `delay_enter=${1000 * ms}`);

async function injected(
	{ child }: { child: ChildProcess },
	calls: keyof typeof CALLS,
	path: string,
	fault: string,
): Promise<() => Promise<void>> {
	const names = CALLS[calls];
	const strace = spawn(
		"strace",
		[
			...["-f", "-p", String(child.pid), "-P", path, "-o", "/dev/null"],
			...["-e", `trace=${names}`, "-e", `inject=${names}:${fault}`],
		],
		{ stdio: ["ignore", "ignore", "pipe"] },
	);
	const exited = once(strace, "exit");
	await new Promise<void>((resolve, reject) => {
		let said = "";
		strace.stderr.on("data", (piece: Buffer) => {
			said += piece.toString();
			if (said.includes("attached")) resolve();
		});
		void exited.then(() => reject(new Error(`strace ended: ${said}`)));
	});
	return async () => {
		strace.kill("SIGINT");
		await exited;
	};
}

export interface SmallDisk {
	/** An error of the file system is found: it can only be read from then on. */
	breakDown(): void;
	/** It is checked and mounted again. */
	repair(): void;
	remove(): void;
}

/** An ext4 of some MB in a file beside the folder, mounted there. */
export function ext4(path: string): SmallDisk {
	const image = `${path}.img`;
	const run = (...command: [string, ...string[]]): void => {
		const why = trouble(...command);
		if (why) throw new Error(why);
	};
	const mount = (): void => run("mount", "-o", "loop,errors=remount-ro", image, path);
	writeFileSync(image, Buffer.alloc(24 * 2 ** 20));
	run("mkfs.ext4", "-q", "-F", image);
	mount();
	return {
		breakDown() {
			const device = readFileSync("/proc/mounts", "utf8")
				.split("\n")
				.find((line) => line.split(" ")[1] === path)!
				.split(" ")[0]!;
			writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, "1");
		},
		repair() {
			run("umount", path);
			// Its answer is 1 when it has corrected something.
			trouble("e2fsck", "-f", "-y", image);
			mount();
		},
		remove: () => void trouble("umount", "-l", path),
	};
}
