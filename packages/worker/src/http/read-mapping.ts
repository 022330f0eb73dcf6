/** Reads a mapping and refuses what cannot work, with the member's path and what to write instead. */
import { type CallNames, checkNames, readCall, readStatuses, textPointer } from "./read-call.ts";
import {
	type AsyncMapping,
	type Call,
	type CancelMapping,
	type Condition,
	type ErrorMapping,
	hasStatus,
	type Mapping,
	type Place,
	type ProgressMapping,
	type Ready,
	type SleepMapping,
	type StatusList,
	type StreamMapping,
} from "./mapping.ts";
import { ObjectReader } from "./mapping-reader.ts";
import { namesIn } from "./template.ts";

const MB = 1_048_576;
/** base64 of this much, as JSON, fits into a result of 64 MiB. */
const MAX_ANSWER = 45 * MB;
const DAY_MS = 86_400_000;
/** Chunks of text are shorter than 1 MB with up to 6 bytes for each character. */
const MAX_FLUSH = 131_072;

const FOR_JOB: CallNames = { roots: ["input", "job", "port"] };
const FOR_SUBMITTED: CallNames = { roots: ["input", "job", "port", "submit", "poll"] };
const FOR_NO_JOB: CallNames = { roots: ["port"] };

export type ReadMapping = { ok: true; mapping: Mapping } | { ok: false; faults: string[] };

/** `value`: the resolved setting `http`, parsed JSON. Each fault is a sentence. */
export function readMapping(value: unknown): ReadMapping {
	const faults: string[] = [];
	const root = new ObjectReader(value, "http", faults);
	root.text("preset");
	const request = root.object("request") ?? new ObjectReader({}, "http.request", faults);
	const answer = root.object("answer") ?? new ObjectReader({}, "http.answer", faults);
	const errors = root.object("errors") ?? new ObjectReader({}, "http.errors", faults);
	const timeouts = root.object("timeouts") ?? new ObjectReader({}, "http.timeouts", faults);
	const urls = request.oneOf("urls", ["never", "public", "any"], "never");
	const defaults = request.object("defaults");
	const stream = readStream(root.object("stream"));
	const async = readAsync(root.object("async"));
	if (stream && async) root.fault("stream", "does not go with http.async: remove one of them.");
	const call = readCall(request, {
		names: FOR_JOB,
		method: "POST",
		path: "/",
		body: { as: "json", template: "{input}" },
		files: true,
	});
	const concurrency = root.integer("concurrency", { min: 1, max: 10_000, fallback: 1 });
	const mapping: Mapping = {
		place: readPlace(root),
		ready: readReady(root.object("ready") ?? new ObjectReader({}, "http.ready", faults)),
		request: call,
		credentials: Object.fromEntries(Object.entries(call.headers).filter(([, text]) => isCredential(text))),
		urls,
		defaults: (defaults ? request.any("defaults") : {}) as Record<string, unknown>,
		answer: {
			as: answer.oneOf("as", ["auto", "json", "text", "binary"], "auto"),
			at: textPointer(answer, "at"),
			maxBytes: answer.integer("maxBytes", { min: 1, max: MAX_ANSWER, fallback: MAX_ANSWER, unit: "bytes" }),
		},
		failed: root.objects("failed").map((rule) => {
			const anyValue = !rule.has("in");
			const { at, in: values } = readCondition(rule, anyValue);
			const message = textPointer(rule, "message");
			rule.end();
			return { at, in: anyValue ? undefined : values, message };
		}),
		stream,
		async,
		progress: readProgress(root.object("progress"), { stream: stream !== undefined, async: async !== undefined }),
		cancel: readCancel(root.object("cancel") ?? new ObjectReader({}, "http.cancel", faults), {
			isAsync: async !== undefined,
			isAlone: concurrency === 1,
		}),
		errors: readErrors(errors),
		concurrency,
		timeouts: {
			connectMs: timeouts.integer("connectMs", { min: 1, max: DAY_MS, fallback: 5000, unit: "ms" }),
			silenceMs: timeouts.integer("silenceMs", { min: 0, max: DAY_MS, fallback: 0, unit: "ms" }),
		},
		sleep: readSleep(root.object("sleep")),
		wake: readSleep(root.object("wake")),
	};
	const { silenceMs } = mapping.timeouts;
	if (async && silenceMs > 0 && silenceMs <= async.everyMs)
		timeouts.fault("silenceMs", "must be longer than http.async.everyMs, the time between two polls.");
	if (answer.has("at") && ["text", "binary"].includes(mapping.answer.as))
		answer.fault("at", `is for JSON: remove it or http.answer.as: ${mapping.answer.as}.`);
	for (const reader of [answer, errors, timeouts, request, root]) reader.end();
	for (const each of callsOf(mapping)) each.headers = { ...mapping.credentials, ...each.headers };
	return faults.length === 0 ? { ok: true, mapping } : { ok: false, faults };
}

function isCredential(template: string): boolean {
	const names = namesIn(template);
	return names.length > 0 && names.every((name) => name.startsWith("env."));
}

/** All calls but that of the job. */
function callsOf({ async, progress, cancel, sleep, wake }: Mapping): Call[] {
	const calls = [async?.poll, async?.result, progress?.call, cancel.call];
	for (const each of [sleep, wake]) calls.push(each?.call, each?.until?.call);
	return calls.filter((each) => each !== undefined);
}

function readPlace(root: ObjectReader): Place {
	const given = ["port", "socket", "url"].filter((name) => root.has(name));
	if (given.length !== 1) {
		const what = given.length === 0 ? "the server's port" : `only one of ${given.join(", ")}`;
		root.fault("port", `Write ${what}: http.port: 8000, http.socket: /path, or http.url: https://host/.`);
	}
	if (root.has("socket")) {
		const socket = root.text("socket") ?? "/";
		// The length of sun_path, without the final zero, on the system where it is shortest.
		if (!socket.startsWith("/") || Buffer.byteLength(socket) > 103)
			root.fault("socket", "must be the absolute path of a UNIX socket, of at most 103 bytes.");
		return { socket };
	}
	if (root.has("url")) {
		const url = root.text("url") ?? "";
		const parsed = URL.parse(url);
		if (!parsed || !["http:", "https:"].includes(parsed.protocol))
			root.fault("url", "must be an http or https URL, such as http://10.0.0.7:8000.");
		else if (parsed.username || parsed.password || parsed.search || parsed.hash)
			root.fault(
				"url",
				"must have no user, password, query or fragment: credentials belong into http.request.headers.",
			);
		return { url };
	}
	return { port: root.integer("port", { min: 0, max: 65_535, fallback: 0 }) };
}

function readReady(reader: ObjectReader): Ready {
	const path = reader.text("path");
	const tcp = reader.flag("tcp");
	if (path !== undefined && !/^\/[\x21-\x7e]*$/.test(path))
		reader.fault("path", "must begin with / and have no spaces, such as /health.");
	if (path !== undefined && tcp) reader.fault("tcp", "does not go with http.ready.path: remove one of them.");
	const where = reader.object("where");
	if (path === undefined && where) reader.fault("where", "needs http.ready.path, whose answer it reads.");
	const read: Ready = {
		path,
		status: readStatuses(reader, "status", [200]),
		where: where && readCondition(where),
		everyMs: reader.integer("everyMs", { min: 10, max: DAY_MS, fallback: 1000, unit: "ms" }),
		timeoutMs: reader.integer("timeoutMs", { min: 10, max: DAY_MS, fallback: 5000, unit: "ms" }),
		lostAfterMs: reader.integer("lostAfterMs", { min: 0, max: DAY_MS, fallback: 30_000, unit: "ms" }),
	};
	where?.end();
	reader.end();
	return read;
}

function readCondition(reader: ObjectReader, anyValue = false): Condition {
	const at = textPointer(reader, "at");
	if (at === undefined) reader.fault("at", "is missing: write a JSON pointer, such as /status.");
	const values = reader.list("in");
	if (values.length === 0 && !anyValue) reader.fault("in", "is missing: write the list of values that count.");
	return { at: at ?? "", in: values };
}

function readStream(reader: ObjectReader | undefined): StreamMapping | undefined {
	if (!reader) return undefined;
	checkNames(reader, "when", reader.any("when"), FOR_JOB);
	if (!reader.has("as")) reader.fault("as", "is missing: write sse, ndjson, text or binary.");
	const as = reader.oneOf("as", ["sse", "ndjson", "text", "binary"], "text");
	const read: StreamMapping = {
		when: reader.text("when") ?? "{input.stream}",
		as,
		at: textPointer(reader, "at"),
		raw: reader.flag("raw"),
		end: reader.text("end"),
		error: textPointer(reader, "error"),
		output: reader.oneOf("output", ["chunks", "text", "last"], "chunks"),
		flushMs: reader.integer("flushMs", { min: 0, max: 60_000, fallback: 0, unit: "ms" }),
		flushBytes: reader.integer("flushBytes", { min: 1, max: MAX_FLUSH, fallback: 16_384, unit: "bytes" }),
	};
	for (const name of ["at", "error", "end", "raw"])
		if (reader.has(name) && (as === "text" || as === "binary"))
			reader.fault(name, `is for events: remove it, or write as: sse or as: ndjson.`);
	for (const name of ["flushMs", "flushBytes"])
		if (reader.has(name) && (as === "sse" || as === "ndjson"))
			reader.fault(name, "is for as: text and as: binary. Each event is sent at once: remove it.");
	if (read.raw && read.at !== undefined) reader.fault("at", "does not go with raw: remove one of them.");
	reader.end();
	return read;
}

function readAsync(reader: ObjectReader | undefined): AsyncMapping | undefined {
	if (!reader) return undefined;
	if (!reader.has("path")) reader.fault("path", "is missing: write the path of a poll, such as /jobs/{submit.id}.");
	const result = reader.object("result");
	const read: AsyncMapping = {
		everyMs: reader.integer("everyMs", { min: 10, max: DAY_MS, fallback: 1000, unit: "ms" }),
		state: textPointer(reader, "state") ?? "/status",
		done: reader.list("done"),
		failed: reader.list("failed"),
		cancelled: reader.list("cancelled"),
		missing: readStatuses(reader, "missing", [404, 410]),
		missingAfterMs: reader.integer("missingAfterMs", { min: 0, max: DAY_MS, fallback: 0, unit: "ms" }),
		result: result && readCall(result, { names: FOR_SUBMITTED, method: "GET" }),
		poll: readCall(reader, { names: FOR_SUBMITTED, method: "GET" }),
	};
	if (read.done.length === 0) reader.fault("done", "is missing: write the states of a job that is done.");
	result?.end();
	reader.end();
	return read;
}

function readProgress(
	reader: ObjectReader | undefined,
	has: { stream: boolean; async: boolean },
): ProgressMapping | undefined {
	if (!reader) return undefined;
	const from = reader.oneOf("from", ["path", "poll", "stream"], "path");
	if (from === "path" && !reader.has("path")) reader.fault("path", "is missing: write it, or from: poll or stream.");
	if (from === "poll" && !has.async) reader.fault("from", "must not be poll without http.async.");
	if (from === "stream" && !has.stream) reader.fault("from", "must not be stream without http.stream.");
	const percent = textPointer(reader, "percent");
	if (percent === undefined) reader.fault("percent", "is missing: write a JSON pointer to the number.");
	const scale = reader.any("scale") ?? 1;
	if (typeof scale !== "number" || !(scale > 0)) reader.fault("scale", "must be a number above 0, such as 100.");
	const read: ProgressMapping = {
		from,
		call: from === "path" ? readCall(reader, { names: FOR_SUBMITTED, method: "GET" }) : undefined,
		everyMs: reader.integer("everyMs", { min: 10, max: DAY_MS, fallback: 1000, unit: "ms" }),
		percent: percent ?? "",
		scale: typeof scale === "number" ? scale : 1,
	};
	reader.end();
	return read;
}

/** A status that one list names as a number is left out of the defaults of the others. */
function readErrors(reader: ObjectReader): ErrorMapping {
	const given = (name: string): StatusList | undefined =>
		reader.has(name) ? readStatuses(reader, name, []) : undefined;
	const lists = { fail: given("fail"), busy: given("busy"), lose: given("lose") };
	const named = Object.values(lists).flatMap((list) => list ?? []);
	const without = (defaults: StatusList): StatusList =>
		defaults.filter((each) => typeof each === "string" || !hasStatus(named, each, true));
	return {
		fail: lists.fail ?? without(["3xx", "4xx", 500]),
		busy: lists.busy ?? without([408, 425, 429, 503]),
		lose: lists.lose ?? without([502, 504]),
		busyMs: reader.integer("busyMs", { min: 0, max: DAY_MS, fallback: 60_000, unit: "ms" }),
	};
}

/** `isAlone`: the server has one job at a time. */
function readCancel(reader: ObjectReader, { isAsync, isAlone }: { isAsync: boolean; isAlone: boolean }): CancelMapping {
	const names = isAsync ? FOR_SUBMITTED : FOR_JOB;
	const read: CancelMapping = {
		call: reader.has("path") ? readCall(reader, { names, method: "POST" }) : undefined,
		ending: reader.oneOf("then", ["close", "wait", "kill"], "close"),
		waitMs: reader.integer("waitMs", { min: 1, max: DAY_MS, fallback: 5000, unit: "ms" }),
	};
	// Without a name, as routes that interrupt what runs, it would end another job.
	if (read.call && !isAlone && !namesIn(read.call).some((name) => /^(?:job|submit|poll|input)\b/.test(name)))
		reader.fault(
			"path",
			`has a route that does not name the job: write {${isAsync ? "submit.id" : "job.uuid"}} or such, or http.concurrency: 1.`,
		);
	reader.end();
	return read;
}

function readSleep(reader: ObjectReader | undefined): SleepMapping | undefined {
	if (!reader) return undefined;
	if (!reader.has("path")) reader.fault("path", "is missing: write the path of the call, such as /sleep.");
	const until = reader.object("until");
	const where = until && (until.has("at") || until.has("in")) ? readCondition(until) : undefined;
	const read: SleepMapping = {
		call: readCall(reader, { names: FOR_NO_JOB, method: "POST" }),
		until: until && {
			call: readCall(until, { names: FOR_NO_JOB, method: "GET" }),
			status: readStatuses(until, "status", [200]),
			where,
		},
	};
	until?.end();
	reader.end();
	return read;
}
