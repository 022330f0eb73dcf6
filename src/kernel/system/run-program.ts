/**
 * Runs a program for a limited time. It leads a process group, which is killed as a whole when the time is over, when
 * it prints too much, and when the service exits, whatever it ignores.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Env } from "../lib/env.ts";

const MOST_BYTES = 1024 ** 2;

export interface ProgramEnd {
	/** `late`, `long`: it was killed, because its time was over or it printed too much. */
	how: "exited" | "late" | "long";
	/** Null: it was killed. */
	code: number | null;
	stdout: string;
	stderr: string;
}

/** Leaders of groups that may run. */
const running = new Set<number>();
process.once("exit", () => {
	for (const leader of running) killGroup(leader);
});

/** Rejects if it cannot be started. Resolves in `timeoutMs` also if the system keeps it from ending. */
export async function runProgram(
	program: string,
	args: readonly string[],
	q: { env: Env; timeoutMs: number; input?: string; mostBytes?: number },
): Promise<ProgramEnd> {
	const child = spawn(program, args, { env: { ...q.env }, detached: true, stdio: "pipe" });
	const { pid } = child;
	if (pid === undefined) throw await new Promise((resolve) => child.once("error", resolve));
	running.add(pid);
	try {
		return await endOf(child, q);
	} finally {
		running.delete(pid);
	}
}

async function endOf(
	child: ChildProcess,
	{ timeoutMs, input = "", mostBytes = MOST_BYTES }: { timeoutMs: number; input?: string; mostBytes?: number },
): Promise<ProgramEnd> {
	const { stdin, stdout, stderr } = child;
	stdin!.on("error", () => {}).end(input);
	const over = AbortSignal.timeout(timeoutMs);
	let how: ProgramEnd["how"] = "exited";
	const said = { stdout: "", stderr: "" };
	return await new Promise((resolve) => {
		let bytes = 0;
		for (const [name, stream] of [
			["stdout", stdout!],
			["stderr", stderr!],
		] as const) {
			stream.setEncoding("utf8").on("data", (piece: string) => {
				said[name] += piece;
				bytes += piece.length;
				if (bytes > mostBytes) stop("long");
			});
		}
		const late = (): void => stop("late");
		function stop(why: "late" | "long"): void {
			how = why;
			killGroup(child.pid!);
			end(null);
		}
		function end(code: number | null): void {
			over.removeEventListener("abort", late);
			for (const stream of [stdin!, stdout!, stderr!]) stream.destroy();
			child.unref();
			resolve({ how, code, ...said });
		}
		over.addEventListener("abort", late, { once: true });
		child.once("close", end);
	});
}

/** The group keeps its number while one of it runs. */
function killGroup(leader: number): void {
	try {
		process.kill(-leader, "SIGKILL");
	} catch {
		// It has ended.
	}
}
