/**
 * URL templates of the environment (protocol B.1), taken apart once so that no URL is parsed
 * per job.
 */

/** A template ready for use. */
export interface UrlTemplate {
	/** Scheme, host and port. */
	readonly origin: string;
	/** Path and query with the id put in, followed by `query` (without `?` or `&` in front). */
	path(id: string, query: string): string;
}

/** Stands for the job id while the template is parsed; survives `new URL` unchanged. */
const MARK = "__sluice_job_id__";

/**
 * Reads a template: `$RUNPOD_POD_ID` becomes the worker id, `$ID` the id given later. Throws an
 * Error that names `variable` when it is not an http or https URL.
 */
export function urlTemplate(variable: string, text: string, workerId: string): UrlTemplate {
	const filled = text
		.replaceAll("$RUNPOD_POD_ID", encodeURIComponent(workerId))
		.replaceAll("$ID", MARK);
	const url = URL.canParse(filled) ? new URL(filled) : undefined;
	if (url?.protocol !== "http:" && url?.protocol !== "https:") {
		throw new Error(
			`${variable} must be an http or https URL with its placeholders; it is ${JSON.stringify(text)}.`,
		);
	}
	const parts = (url.pathname + url.search).split(MARK);
	const [before = "", after = ""] = parts;
	const separator = url.search === "" ? "?" : "&";
	return {
		origin: url.origin,
		path: (id, query) => {
			const safe = encodeURIComponent(id);
			const base = parts.length === 2 ? before + safe + after : parts.join(safe);
			return query === "" ? base : base + separator + query;
		},
	};
}
