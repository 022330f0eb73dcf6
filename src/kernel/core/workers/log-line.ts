/** Lines of logs: those that RunPod's SDK writes as JSON with their job, levels, filters. */

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Bytes of workers' logs that a page of a search reads at a server. */
export const SEARCHED_LOG_BYTES = 32 * 2 ** 20;

interface SdkLine {
	text: string;
	job?: string;
	level?: string;
}

export function sdkLine(text: string): SdkLine {
	const { requestId, message, level } = parse(text);
	if (typeof message !== "string") return { text };
	return {
		text: message,
		...(typeof requestId === "string" && { job: requestId }),
		...(typeof level === "string" && { level }),
	};
}

function parse(text: string): { requestId?: unknown; message?: unknown; level?: unknown } {
	if (!text.startsWith('{"')) return {};
	try {
		return JSON.parse(text) as object;
	} catch {
		return {};
	}
}

/** `search` in any case of letters; `level`: the lowest; times inclusive, ms since the epoch. */
export interface LineFilter {
	search: string;
	level?: LogLevel | undefined;
	since?: number | undefined;
	until?: number | undefined;
}

/** Fits a line without a level as info, one without a time at any time. */
export function lineFilter({ search, level = "debug", since, until }: LineFilter) {
	const needle = search.toLowerCase();
	const lowest = LOG_LEVELS.indexOf(level);
	return (line: { text: string; level?: string | undefined; time?: string | undefined }): boolean => {
		if (lowest > 0 && rankOf(line.level) < lowest) return false;
		if ((since !== undefined || until !== undefined) && line.time !== undefined) {
			const at = Date.parse(line.time);
			if (at < (since ?? 0) || at > (until ?? Infinity)) return false;
		}
		return line.text.toLowerCase().includes(needle);
	};
}

/** Takes levels as SDKs and logging libraries name them. */
function rankOf(level = "info"): number {
	const name = level.toLowerCase();
	if (name === "critical" || name === "fatal") return LOG_LEVELS.indexOf("error");
	const rank = LOG_LEVELS.findIndex((each) => name.startsWith(each));
	return rank >= 0 ? rank : LOG_LEVELS.indexOf(name === "trace" ? "debug" : "info");
}
