/**
 * What an SDK worker posts for what its handler did (protocol B.5), and JSON as Python prints
 * it.
 */

/**
 * JSON text with bare `NaN` and `Infinity`, as Python has it. Throws for what cannot be JSON, such
 * as a set, or not be UTF-8.
 */
export function pythonJson(value: unknown): string {
	const text = JSON.stringify(value, (_, member: unknown) => {
		if (member instanceof Set || member instanceof Map || typeof member === "function")
			throw new TypeError(`Object of type ${member.constructor.name.toLowerCase()} is not JSON serializable`);
		if (typeof member === "string" && !member.isWellFormed())
			throw new TypeError("'utf-8' codec can't encode a surrogate: surrogates not allowed");
		return typeof member === "number" && !Number.isFinite(member) ? `\u0000${member}` : member;
	});
	return text.replace(/"\\u0000(NaN|-?Infinity)"/g, "$1");
}

/** The body for a returned value. */
export function resultBody(returned: unknown): Record<string, unknown> {
	if (typeof returned !== "object" || returned === null || Array.isArray(returned) || returned instanceof Set)
		return { output: returned ?? null };
	const { error, refresh_worker: refresh, ...output } = returned as Record<string, unknown>;
	return {
		...(Object.keys(output).length === 0 ? {} : { output }),
		...(error ? { error } : {}),
		...(refresh ? { stopPod: true } : {}),
	};
}

/** The body for a handler that raised. */
export function raisedBody(
	error: unknown,
	{ worker, version }: { worker: string; version: string },
): Record<string, unknown> {
	const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
	const record = {
		error_type: `<class '${name}'>`,
		error_message: message,
		error_traceback: stack,
		hostname: "unknown",
		worker_id: worker,
		runpod_version: version,
	};
	return { error: JSON.stringify(record) };
}

/**
 * Posts what a generator yields, one after another, and answers the body that follows the chunks.
 */
export async function generatorBody(
	items: AsyncIterable<unknown> | Iterable<unknown>,
	{
		post,
		aggregate,
		cancelled,
	}: { post: (chunk: unknown) => Promise<void>; aggregate: boolean; cancelled: AbortSignal },
): Promise<Record<string, unknown>> {
	const all: unknown[] = [];
	try {
		for await (const item of items) {
			if (cancelled.aborted) break;
			const { error } = typeof item === "object" && item !== null ? (item as { error?: unknown }) : {};
			if (error)
				return {
					error: typeof error === "string" ? error : JSON.stringify(error).replaceAll('"', "'"),
				};
			await post(item);
			all.push(item);
		}
	} catch (error) {
		return {
			error:
				`handler: ${error instanceof Error ? error.message : String(error)} \n` +
				"traceback: Traceback (most recent call last)",
		};
	}
	return { output: aggregate ? all : [] };
}
