/** Which lines of a log are asked for. */
import { LOG_LEVELS, type LogLevel } from "../../kernel/core/workers/log-line.ts";

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
