/** A line of a worker's output: RunPod's SDK writes some as JSON with the job they are of. */

interface SdkLine {
	text: string;
	/** Id of the job, and level, as the worker's SDK wrote them. */
	job?: string;
	level?: string;
}

/** The message in the SDK's JSON, or the line itself. */
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
