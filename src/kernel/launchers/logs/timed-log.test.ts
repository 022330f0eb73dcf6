/** Output of several programs of a worker in one log (docs/decisions/0061-adapter-image.md). */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { linesOf } from "../platform-streams.ts";
import { logPath } from "./log-files.ts";
import { type LogSource, sourcePath } from "./log-sources.ts";
import { pruneLogs } from "./old-logs.ts";
import { timedLog } from "./timed-log.ts";

const line = (second: number, text: string): string => `2026-01-01T00:00:0${second}.000000000Z ${text}\n`;

function place() {
	const logDir = mkdtempSync(join(tmpdir(), "sluice-timed-log-"));
	onTestFinished(() => rmSync(logDir, { recursive: true }));
	/** Appends what the platform has of a program, as a new service does. Returns from when on it was asked. */
	async function copied(source: LogSource, ...lines: string[]): Promise<number> {
		const log = await timedLog(logDir, "w", source);
		const { since } = log;
		async function* all(): AsyncGenerator<Buffer> {
			yield Buffer.from(lines.join(""));
		}
		for await (const pieces of linesOf(all())) await log.append(pieces);
		log.close();
		return since;
	}
	return { logDir, copied, written: () => readFileSync(logPath(logDir, "w"), "utf8") };
}

it("D34: each goes on where its own lines ended, whatever the other has written since", async () => {
	const { copied, written } = place();
	const server = [line(1, "server 1"), line(4, "server 4")];
	const adapter = [line(2, "adapter 2"), line(3, "adapter 3")];
	expect(await copied("server", ...server)).toBe(0);
	expect(await copied("adapter", adapter[0]!), "nothing of it was copied yet").toBe(0);
	// The adapter's second line is older than what the log has of the server.
	expect(await copied("adapter", ...adapter)).toBe(Date.parse("2026-01-01T00:00:02Z") / 1000);
	await copied("server", ...server, line(5, "server 5"));
	expect(written()).toBe("server 1\nserver 4\nadapter 2\nadapter 3\nserver 5\n");
});

it("the files with their times are removed with the log", async () => {
	const { logDir, copied } = place();
	await copied("server", line(1, "a"));
	const own = sourcePath(logPath(logDir, "w"), "server");
	expect(existsSync(own)).toBe(true);
	await pruneLogs(logDir, { running: () => [], now: Date.now() + 48 * 3_600_000 });
	expect([existsSync(own), existsSync(logPath(logDir, "w"))]).toEqual([false, false]);
});

it.skipIf(process.platform !== "linux")("closes the log if the file with the time cannot be opened", async () => {
	const { logDir } = place();
	const path = logPath(logDir, "w");
	mkdirSync(sourcePath(path, "server"));
	await expect(timedLog(logDir, "w", "server")).rejects.toThrow("EISDIR");
	// The collection of garbage would close it later.
	expect(openPaths()).not.toContain(path);
});

/** Paths of the files that this process has open. */
function openPaths(): string[] {
	return readdirSync("/proc/self/fd").flatMap((fd) => {
		try {
			return [readlinkSync(`/proc/self/fd/${fd}`)];
		} catch {
			// It is closed meanwhile.
			return [];
		}
	});
}
