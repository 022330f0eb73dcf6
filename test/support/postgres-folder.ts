/**
 * The temporary folder of a test's PostgreSQL, and what killed runs leave behind. A socket in the
 * folder answers as long as the process that made it lives: no pid can be mistaken for another's,
 * and the servers of runs that go on at the same time are left alone.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerUser } from "./postgres-programs.ts";

const PREFIX = "sluice-postgres-";
const OWNER = "owner.sock";

/** A folder that `user` may write to, and that belongs to this process. */
export async function makeFolder(user: ServerUser): Promise<string> {
	const folder = mkdtempSync(join(tmpdir(), PREFIX));
	chmodSync(folder, 0o755);
	if (user) chownSync(folder, user.uid, user.gid);
	const owner = createServer((socket) => socket.destroy());
	await once(owner.listen(join(folder, `${OWNER}.new`)), "listening");
	// Under its name only now: a socket that does not listen yet refuses, as a dead one does.
	renameSync(join(folder, `${OWNER}.new`), join(folder, OWNER));
	owner.unref();
	return folder;
}

/** Ends the servers of runs that are dead, and removes their folders. */
export async function sweepLeftovers(): Promise<void> {
	for (const name of readdirSync(tmpdir())) {
		if (!name.startsWith(PREFIX)) continue;
		const folder = join(tmpdir(), name);
		if (await isLeft(folder)) removeFolder(folder);
	}
}

/**
 * Only a refused connection says that the owner is dead: a folder without the socket is being made,
 * one of another user is not ours.
 */
function isLeft(folder: string): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(join(folder, OWNER));
		socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
		socket.once("connect", () => {
			socket.destroy();
			resolve(false);
		});
	});
}

/**
 * Ends the server of a folder, if one runs, and removes the folder. Blocks until that is done: it
 * is for ends, where nothing can be awaited.
 */
export function removeFolder(folder: string): void {
	const dataDir = join(folder, "data");
	const pid = serverPid(dataDir);
	// Another process may have the pid by now: only a server on these data is ours.
	const lives = (): boolean => pid !== undefined && commandOf(pid).includes(dataDir);
	for (let turn = 0; lives(); turn += 1) {
		if (turn % 500 === 0) signal(pid!, turn === 0 ? "SIGQUIT" : "SIGKILL");
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
	}
	rmSync(folder, { recursive: true, force: true });
}

function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch (error) {
		// Removed in the meantime, perhaps by another run.
		if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
	}
}

/**
 * The pid of the server on these data, as it wrote it down; undefined: it never started, or ended
 * in order.
 */
export function serverPid(dataDir: string): number | undefined {
	return Number(pidFile(dataDir)[0]) || undefined;
}

/**
 * Whether the server with this pid says that it accepts connections, those of a standby included.
 */
export function isReady(dataDir: string, pid: number | undefined): boolean {
	const lines = pidFile(dataDir);
	return Number(lines[0]) === pid && ["ready", "standby"].includes(lines[7]?.trim() ?? "");
}

function pidFile(dataDir: string): string[] {
	try {
		return readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n");
	} catch {
		return [];
	}
}

/** The command line of a process, "" when there is none. */
export function commandOf(pid: number): string {
	try {
		if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8");
		return execFileSync("ps", ["-p", String(pid), "-o", "args="], { encoding: "utf8" });
	} catch {
		return "";
	}
}
