/** Lines of logs: those that RunPod's SDK writes as JSON with their job; levels. */

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

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
