/**
 * Programs of a worker whose lines are in one log, while their platform keeps the output of each apart. How far each
 * was copied is in a file next to the log.
 */
import { constants } from "node:fs";
import { fileCalls } from "../../system/file-calls.ts";
import { OWNER_FILE } from "./log-files.ts";

export const LOG_SOURCES = ["adapter", "server"] as const;
export type LogSource = (typeof LOG_SOURCES)[number];

/** Never through a link, which another user may have made. */
const UPDATE = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/** Digits of a time in µs until the year 2286. */
const DIGITS = 16;

/** `path`: of the log. */
export function sourcePath(path: string, source: LogSource): string {
	return `${path}.${source}`;
}

/** The time of the last line that was copied, µs since the epoch. 0 before the first. */
export async function openSource(path: string, source: LogSource) {
	const own = sourcePath(path, source);
	const file = await fileCalls.open(own, UPDATE, { mode: OWNER_FILE });
	return {
		// The file is not flushed and may be empty or zeros after a power loss: lines are repeated then.
		time: async () => Number(await fileCalls.run(own, () => file.readFile("utf8"))) || 0,
		async setTime(time: number): Promise<void> {
			await fileCalls.run(own, () => file.write(String(time).padStart(DIGITS, "0"), 0));
		},
		close: () => void file.close().catch(() => {}),
	};
}
