/** RunPod's SDK writes some lines as JSON with the job they are of. */

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
