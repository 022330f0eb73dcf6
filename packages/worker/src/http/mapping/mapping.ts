/**
 * The mapping: how a job becomes requests to an HTTP server, and answers become its output. Times are in ms, sizes in
 * bytes; both may also be texts with a unit, such as "5s" and "45mb". `at` is a JSON pointer; in the
 * asynchronous form it may have names of `submit`. {@link readMapping} has the defaults.
 */
/** Method, path, query, headers and body of a request, as templates. */
export interface Call {
	method: string;
	/** Begins with a slash. May have a query without names. */
	path: string;
	query: Record<string, string>;
	/** Names in lower case. */
	headers: Record<string, string>;
	body: Body | undefined;
}

export type Body =
	| { as: "json"; template: unknown }
	| { as: "form"; fields: FormFields }
	| { as: "text"; template: string }
	| { as: "multipart"; fields: FormFields; files: FilePart[] };

/** Templates by field, or that of an object whose members are the fields, such as `{input}`. */
export type FormFields = Record<string, unknown> | string;

export interface FilePart {
	field: string;
	/** Template of base64, a `data:` URL, or an address. */
	from: string;
	name: string | undefined;
	type: string | undefined;
	required: boolean;
}

/** A call for each element of a list of the job, before its request: files that the server wants first. */
export interface Upload {
	/** Template of the list. Its elements are `{each}` in the call. */
	each: string;
	call: Call;
}

/** Where the server is: a port of 127.0.0.1, a UNIX socket, or the address of a server that runs elsewhere. */
export type Place = { port: number } | { socket: string } | { url: string };

/** True for JSON that has one of `in` at `at`, or a number of at most `atMost`. Without both: any but null and false. */
export interface Condition {
	at: string;
	in: unknown[] | undefined;
	atMost?: number | undefined;
}

export interface Ready {
	/** Undefined: an accepted TCP connection is enough. */
	path: string | undefined;
	status: StatusList;
	where: Condition | undefined;
	everyMs: number;
	timeoutMs: number;
	lostAfterMs: number;
}

/** A 2xx answer that is a failure: to the job, to a submission, or to a poll. `message`: pointer to the error. */
export interface FailedRule extends Condition {
	message: string | undefined;
}

export interface StreamMapping {
	/** `always`, or a template that is true. */
	when: string;
	as: "sse" | "ndjson" | "text" | "binary";
	at: string | undefined;
	/** Chunks are events as text, byte for byte. */
	raw: boolean;
	/** Data of the event that ends the stream. */
	end: string | undefined;
	error: string | undefined;
	output: "chunks" | "text" | "last";
}

/** OpenAI's API of the server, for jobs of `/openai/*`. */
export interface OpenAiMapping {
	/** Such as "POST /v1/chat/completions", and "GET /v1/models/*" for all below. */
	routes: string[];
	/** What the server has in place of `/v1`. */
	base: string;
	/** Routes whose jobs are like all others of the mapping: the client's body is their input. */
	mapped: string[];
}

/**
 * Finds what an earlier attempt of the same run has submitted, before the request. The server must take an id that the
 * attempts share, such as `{job.runUuid}`.
 */
export interface ExistingMapping {
	/** A 2xx answer for which `where` holds, and which has the text `contains`, says that the server has the job. */
	checks: { call: Call; where: Condition | undefined; contains: string | undefined }[];
	/** Template of what stands for the answer to the submission then. */
	submit: unknown;
	/** Called if the server does not have it: removes what is left of an attempt that failed. */
	discard: Call | undefined;
}

/** The asynchronous form: the request submits, `poll` asks for the state. */
export interface AsyncMapping {
	existing: ExistingMapping | undefined;
	poll: Call;
	everyMs: number;
	state: string;
	done: unknown[];
	failed: unknown[];
	cancelled: unknown[];
	/** Statuses of a poll by which the server does not know the job. */
	missing: StatusList;
	/** Statuses of a poll by which the job has failed, beside those of 4xx in `errors.fail`. */
	fails: StatusList;
	/** Undefined: the last poll has the result. */
	result: Call | undefined;
}

export interface ProgressMapping {
	from: "path" | "poll";
	call: Call | undefined;
	everyMs: number;
	/** Pointer to a number, which may be a text such as "12". */
	percent: string;
	/** Pointer to the whole, also a number, of which the one at `percent` is a part. */
	of: string | undefined;
	/** Factor by which the value becomes a percentage, without `of`. */
	scale: number;
}

export interface CancelMapping {
	call: Call | undefined;
	/** Member `then`: what follows the call. */
	ending: "close" | "wait" | "kill";
	waitMs: number;
}

/** Statuses: 404, "4xx" or "500-503". A number counts before a range. */
export type StatusList = readonly (number | string)[];

export interface ErrorMapping {
	fail: StatusList;
	busy: StatusList;
	lose: StatusList;
	busyMs: number;
}

/** Freeing the server's GPU memory, or taking it again: a call, then polls until the condition holds. */
export interface SleepMapping {
	/** A list of the server, at `at` of the answer: the call is made for each element, `{each}` in it. */
	each: { call: Call; at: string } | undefined;
	call: Call;
	until: { call: Call; status: StatusList; where: Condition | undefined } | undefined;
}

export interface Mapping {
	place: Place;
	ready: Ready;
	request: Call;
	/** Paths in place of that of the request, by a member of the input: the first that is neither null nor false. */
	paths: Record<string, string>;
	openai: OpenAiMapping | undefined;
	/** Headers of the request whose values are variables only. They are sent with every call, also of `ready`. */
	credentials: Record<string, string>;
	/** Addresses that files may be fetched from. */
	urls: "never" | "public" | "any";
	/** Members of the input that a job without them gets. */
	defaults: Record<string, unknown>;
	uploads: Upload[];
	answer: {
		/** `typed`: JSON as it is, all else as bytes with their content type. Jobs of `/openai/*` have it, no mapping. */
		as: "auto" | "json" | "text" | "binary" | "typed";
		at: string | undefined;
		maxBytes: number;
		/** Name of the file as which a binary answer is stored, where the worker can store files. */
		store: string | undefined;
		/** Each object of the output for which `where` holds, `{file}` in the call, is replaced by the call's answer. */
		files: { call: Call; where: Condition } | undefined;
	};
	failed: FailedRule[];
	stream: StreamMapping | undefined;
	async: AsyncMapping | undefined;
	progress: ProgressMapping | undefined;
	cancel: CancelMapping;
	errors: ErrorMapping;
	concurrency: number;
	/** `silenceMs`: of streams and the asynchronous form, from the request on. 0 for no limit. */
	timeouts: { connectMs: number; silenceMs: number };
	sleep: SleepMapping | undefined;
	wake: SleepMapping | undefined;
}

/** Whether a list has the status. `exactly`: as a number. */
export function hasStatus(list: StatusList, status: number, exactly = false): boolean {
	return list.some((each) => {
		if (typeof each === "number") return each === status;
		if (exactly) return false;
		const [from = "", to] = each.split("-");
		return to === undefined ? from[0] === String(status)[0] : status >= Number(from) && status <= Number(to);
	});
}
