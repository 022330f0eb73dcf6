/** The error of a job as people read it. Pure. */

/** Returns the error as it is; of the JSON that SDKs send for an exception, its stack with its message. */
export function errorText(error: string): string {
	const { error_type: type, error_message: message, error_traceback: trace } = recordIn(error);
	const name = typeof type === "string" ? type.replace(/^<class '(.*)'>$/, "$1") : "Error";
	const sentence = typeof message === "string" ? `${name}: ${message}` : undefined;
	if (typeof trace !== "string") return sentence ?? error;
	const stack = trace.trimEnd();
	return sentence === undefined || stack.includes(String(message)) ? stack : `${sentence}\n${stack}`;
}

function recordIn(text: string): Record<string, unknown> {
	try {
		const value: unknown = JSON.parse(text);
		return typeof value === "object" && value !== null ? { ...value } : {};
	} catch {
		return {};
	}
}
