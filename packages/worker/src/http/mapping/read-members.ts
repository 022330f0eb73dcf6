/** Reads the members of a mapping that say how a job goes on: stream, asynchronous form, progress, cancel, sleep. */
import type { ObjectReader } from "./mapping-reader.ts";
import type {
	Mapping,
	Upload,
	AsyncMapping,
	CancelMapping,
	Condition,
	ExistingMapping,
	ProgressMapping,
	SleepMapping,
	StreamMapping,
} from "./mapping.ts";
import { checkNames, readCall, readPointer, readRefusals, readStatuses, type Roots } from "./read-call.ts";
import { namesIn } from "./template.ts";

/** First names of templates in calls for a job, for one that was submitted, and for none. */
export const FOR_JOB: Roots = ["input", "job", "port"];
const FOR_SUBMITTED: Roots = [...FOR_JOB, "submit", "poll"];
const FOR_NO_JOB: Roots = ["port"];

/** `anyValue`: whether a condition may be without values. */
export function readCondition(
	reader: ObjectReader,
	{ anyValue = false, roots }: { anyValue?: boolean; roots?: Roots | undefined } = {},
): Condition {
	reader.need("at", "a JSON pointer, such as /status");
	const at = readPointer(reader, "at", roots) ?? "";
	const values = reader.list("in");
	const atMost = reader.any("atMost");
	if (atMost !== undefined && typeof atMost !== "number") reader.fault("atMost", "must be a number.");
	if (atMost !== undefined && reader.has("in")) reader.fault("atMost", "does not go with in: remove one of them.");
	if (values.length === 0 && (reader.has("in") || !(anyValue || atMost !== undefined)))
		reader.fault("in", "is missing: write the list of values that count.");
	return { at, in: reader.has("in") ? values : undefined, atMost: typeof atMost === "number" ? atMost : undefined };
}

/** The condition of a call that may have none. */
function readOwnCondition(reader: ObjectReader, roots?: Roots): Condition | undefined {
	return ["at", "in", "atMost"].some((name) => reader.has(name)) ? readCondition(reader, { roots }) : undefined;
}

export function readUpload(reader: ObjectReader): Upload {
	const each = reader.text("each") ?? "";
	const [name, ...others] = namesIn(each);
	if (each !== `{${name}}` || others.length > 0)
		reader.fault("each", 'must be the name of a list, such as "{input.images}".');
	checkNames(reader, "each", each, FOR_JOB);
	return { each, call: readCall(reader, { roots: [...FOR_JOB, "each"], method: "POST", files: true }) };
}

export function readFiles(reader: ObjectReader): Mapping["answer"]["files"] {
	return {
		call: readCall(reader, { roots: [...FOR_SUBMITTED, "file"], method: "GET" }),
		where: readCondition(reader.section("where")),
	};
}

export function readStream(reader: ObjectReader): StreamMapping {
	const when = reader.text("when") ?? "{input.stream}";
	checkNames(reader, "when", when, FOR_JOB);
	if (when !== "always" && when !== `{${namesIn(when)[0]}}`)
		reader.fault("when", 'must be always, or the name of a value that is true, such as "{input.stream}".');
	reader.need("as", "sse, ndjson, text or binary");
	const as = reader.oneOf("as", ["sse", "ndjson", "text", "binary"], "text");
	const read: StreamMapping = {
		when,
		as,
		at: readPointer(reader, "at"),
		raw: reader.flag("raw", false),
		end: reader.text("end"),
		error: readPointer(reader, "error"),
		output: reader.oneOf("output", ["chunks", "text", "last"], "chunks"),
	};
	for (const name of ["at", "error", "end", "raw"])
		if (reader.has(name) && (as === "text" || as === "binary"))
			reader.fault(name, `is for events: remove it, or write as: sse or as: ndjson.`);
	if (read.raw && read.at !== undefined) reader.fault("at", "does not go with raw: remove one of them.");
	return read;
}

export function readAsync(reader: ObjectReader): AsyncMapping {
	reader.need("path", "the path of a poll, such as /jobs/{submit.id}");
	const read: AsyncMapping = {
		existing: reader.optional("existing", readExisting),
		everyMs: reader.ms("everyMs", 10, 1000),
		state: readPointer(reader, "state") ?? "/status",
		done: reader.list("done"),
		failed: reader.list("failed"),
		cancelled: reader.list("cancelled"),
		missing: readRefusals(reader, "missing", [404, 410]),
		fails: readRefusals(reader, "fails", []),
		result: reader.optional("result", (result) => readCall(result, { roots: FOR_SUBMITTED, method: "GET" })),
		poll: readCall(reader, { roots: FOR_SUBMITTED, method: "GET" }),
	};
	if (read.done.length === 0) reader.fault("done", "is missing: write the states of a job that is done.");
	return read;
}

function readExisting(reader: ObjectReader): ExistingMapping {
	reader.need("checks", 'the calls that find a job, such as [{ path: /queue, contains: "{job.runUuid}" }]');
	reader.need("submit", 'what the submission answers, such as { id: "{job.runUuid}" }');
	checkNames(reader, "submit", reader.any("submit"), FOR_JOB);
	return {
		checks: reader.objects("checks", (check) => {
			const contains = check.text("contains");
			checkNames(check, "contains", contains, FOR_JOB);
			const where = readOwnCondition(check, FOR_JOB);
			if (!where) check.need("contains", "a text of the answer, or at and in, which show that the server has the job");
			return { call: readCall(check, { roots: FOR_JOB, method: "GET" }), where, contains };
		}),
		submit: reader.any("submit"),
		discard: reader.optional("discard", (discard) => readCall(discard, { roots: FOR_JOB, method: "POST" })),
	};
}

export function readProgress(reader: ObjectReader, isAsync: boolean): ProgressMapping {
	const from = reader.oneOf("from", ["path", "poll"], "path");
	if (from === "path") reader.need("path", "it, or from: poll");
	if (from === "poll" && !isAsync) reader.fault("from", "must not be poll without http.async.");
	reader.need("percent", "a JSON pointer to the number");
	const scale = reader.any("scale") ?? 1;
	if (typeof scale !== "number" || !(scale > 0)) reader.fault("scale", "must be a number above 0, such as 100.");
	const of = readPointer(reader, "of");
	if (of !== undefined && reader.has("scale")) reader.fault("scale", "does not go with of: remove one of them.");
	return {
		from,
		of,
		call: from === "path" ? readCall(reader, { roots: FOR_SUBMITTED, method: "GET" }) : undefined,
		everyMs: reader.ms("everyMs", 10, 1000),
		percent: readPointer(reader, "percent") ?? "",
		scale: typeof scale === "number" ? scale : 1,
	};
}

/** `isAlone`: the server has one job at a time. */
export function readCancel(
	reader: ObjectReader,
	{ isAsync, isAlone }: { isAsync: boolean; isAlone: boolean },
): CancelMapping {
	const roots = isAsync ? FOR_SUBMITTED : FOR_JOB;
	const call = reader.has("path") ? readCall(reader, { roots, method: "POST" }) : undefined;
	// Without a name, as routes that interrupt what runs, it would end another job.
	if (call && !isAlone && !namesIn(call).some((name) => /^(?:job|submit|poll|input)\b/.test(name)))
		reader.fault(
			"path",
			`has a route that does not name the job: write {${isAsync ? "submit.id" : "job.uuid"}} or such, or http.concurrency: 1.`,
		);
	return {
		call,
		ending: reader.oneOf("then", ["close", "wait", "kill"], "close"),
		waitMs: reader.ms("waitMs", 1, 5000),
	};
}

export function readSleep(reader: ObjectReader): SleepMapping {
	reader.need("path", "the path of the call, such as /sleep");
	const each = reader.optional("each", (list) => {
		list.need("at", "a JSON pointer to the list, such as /models");
		return { call: readCall(list, { roots: FOR_NO_JOB, method: "GET" }), at: readPointer(list, "at", []) ?? "" };
	});
	return {
		each,
		call: readCall(reader, { roots: each ? [...FOR_NO_JOB, "each"] : FOR_NO_JOB, method: "POST" }),
		until: reader.optional("until", (until) => ({
			call: readCall(until, { roots: FOR_NO_JOB, method: "GET" }),
			status: readStatuses(until, "status", [200]),
			where: readOwnCondition(until),
		})),
	};
}
