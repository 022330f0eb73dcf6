/** Programs that do not end, or print without end. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { folder, type Folder } from "../../../test/support/service.ts";
import { until } from "../../../test/support/until.ts";
import { runProgram } from "./run-program.ts";

let place: Folder;
beforeEach(() => {
	place = folder();
});
afterEach(() => place.remove());

const shell = (script: string, q: { timeoutMs?: number; input?: string; mostBytes?: number } = {}) =>
	runProgram("sh", ["-c", script], {
		env: { PATH: process.env["PATH"], PIDS: join(place.path, "pids") },
		timeoutMs: 30_000,
		...q,
	});

/** Resolves when none of the processes runs that have noted their pids. */
async function ended(): Promise<void> {
	const pids = readFileSync(join(place.path, "pids"), "utf8").trim().split("\n").map(Number);
	const runs = (pid: number): boolean => {
		try {
			return process.kill(pid, 0);
		} catch {
			return false;
		}
	};
	await until("the end of all", () => !pids.some(runs));
}

it("returns what a program prints, and how it ends", async () => {
	expect(await shell("cat; echo no >&2; exit 3", { input: "in" })).toEqual({
		how: "exited",
		code: 3,
		stdout: "in",
		stderr: "no\n",
	});
	await expect(runProgram("no-such-program", [], { env: {}, timeoutMs: 1000 })).rejects.toMatchObject({
		code: "ENOENT",
	});
});

it("kills a program that ignores its end, and what it has started, when the time is over", async () => {
	const script = "trap '' TERM INT HUP; echo $$ >> $PIDS; sh -c 'echo $$ >> $PIDS; sleep 300; :' & wait; sleep 300; :";
	expect(await shell(`echo begun; ${script}`, { timeoutMs: 500 })).toMatchObject({ how: "late", stdout: "begun\n" });
	await ended();
});

it("kills what a program leaves with its output", async () => {
	expect(await shell("sleep 300 & echo $! >> $PIDS; exit 0", { timeoutMs: 500 })).toMatchObject({ how: "late" });
	await ended();
});

it("kills a program that prints too much", async () => {
	const { how, stdout } = await shell("echo $$ >> $PIDS; exec yes", { mostBytes: 1000 });
	expect(how).toBe("long");
	expect(stdout.length).toBeLessThan(200_000);
	await ended();
});
