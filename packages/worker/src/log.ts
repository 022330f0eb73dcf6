/** Log lines in the form of RunPod's SDK (protocol B.9). */
import type { LogSettings } from "./settings.ts";
import type { LogLevel } from "./types.ts";

export type Log = (level: LogLevel, message: string, jobId?: string) => void;

const RANK: Record<LogLevel, number> = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 };
const MAX_MESSAGE = 4096;

/** Lines are JSON or `LEVEL | job id | message`. Messages over 4,096 characters are cut in the middle. */
export function createLog({ json, level: minimum }: LogSettings, write: (line: string) => void): Log {
	return (level, message, jobId) => {
		if (RANK[level] < RANK[minimum]) return;
		const text = shorten(message);
		if (json) write(`${JSON.stringify({ requestId: jobId ?? null, message: text, level })}\n`);
		else write(`${level.padEnd(6)} | ${jobId === undefined ? "" : `${jobId} | `}${text}\n`);
	};
}

function shorten(message: string): string {
	if (message.length <= MAX_MESSAGE) return message;
	const half = MAX_MESSAGE / 2 - 20;
	return `${message.slice(0, half)}\n... cut ...\n${message.slice(-half)}`;
}
