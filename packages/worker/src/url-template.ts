/** URL templates of the environment (protocol B.1). */

export interface UrlTemplate {
	readonly origin: string;
	/** Path and query for an id, followed by `query` (without a leading `?` or `&`). */
	path(id: string, query: string): string;
}

/** Replaces `$ID` during parsing, since `new URL` does not change it. */
const MARK = "__sluice_job_id__";

/** `$RUNPOD_POD_ID` is the worker id, `$ID` the argument of `path`. Throws an Error that names `variable`. */
export function urlTemplate(variable: string, text: string, workerId: string): UrlTemplate {
	const filled = text.replaceAll("$RUNPOD_POD_ID", encodeURIComponent(workerId)).replaceAll("$ID", MARK);
	const url = URL.canParse(filled) ? new URL(filled) : undefined;
	if (url?.protocol !== "http:" && url?.protocol !== "https:") {
		throw new Error(`${variable} must be an http or https URL with placeholders, not ${JSON.stringify(text)}.`);
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
