/** Reads the members of a mapping that say how a job goes on: stream, asynchronous form, progress, cancel, sleep. */
import type { ObjectReader } from "./mapping-reader.ts";
import type {
	Mapping,
	Upload,
	AsyncMapping,
	CancelMapping,
	Condition,
	ProgressMapping,
	SleepMapping,
	StreamMapping,
} from "./mapping.ts";
import { checkNames, readCall, readPointer, readStatuses, type Roots } from "./read-call.ts";
import { namesIn } from "./template.ts";

/** First names of templates in calls for a job, for one that was submitted, and for none. */
export const FOR_JOB: Roots = ["input", "job", "port"];
const FOR_SUBMITTED: Roots = [...FOR_JOB, "submit", "poll"];
const FOR_NO_JOB: Roots = ["port"];

export function readCondition(reader: ObjectReader, anyValue = false): Condition {
	const at = readPointer(reader, "at");
	if (at === undefined) reader.fault("at", "is missing: write a JSON pointer, such as /status.");
	const values = reader.list("in");
	if (values.length === 0 && !anyValue) reader.fault("in", "is missing: write the list of values that count.");
	return { at: at ?? "", in: values };
}

export function readUpload(reader: ObjectReader): Upload {
	const each = reader.text("each") ?? "";
	const [name, ...others] = namesIn(each);
	if (each !== `{${name}}` || others.length > 0)
		reader.fault("each", 'must be the name of a list, such as "{input.images}".');
	checkNames(reader, "each", each, FOR_JOB);
	const call = readCall(reader, { roots: [...FOR_JOB, "each"], method: "POST", files: true });
	reader.end();
	return { each, call };
}

export function readFiles(reader: ObjectReader | undefined): Mapping["answer"]["files"] {
	if (!reader) return undefined;
	const where = reader.section("where");
	const read = {
		call: readCall(reader, { roots: [...FOR_SUBMITTED, "file"], method: "GET" }),
		where: readCondition(where),
	};
	where.end();
	reader.end();
	return read;
}

export function readStream(reader: ObjectReader | undefined): StreamMapping | undefined {
	if (!reader) return undefined;
	checkNames(reader, "when", reader.any("when"), FOR_JOB);
	if (!reader.has("as")) reader.fault("as", "is missing: write sse, ndjson, text or binary.");
	const as = reader.oneOf("as", ["sse", "ndjson", "text", "binary"], "text");
	const read: StreamMapping = {
		when: reader.text("when") ?? "{input.stream}",
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
	reader.end();
	return read;
}

export function readAsync(reader: ObjectReader | undefined): AsyncMapping | undefined {
	if (!reader) return undefined;
	if (!reader.has("path")) reader.fault("path", "is missing: write the path of a poll, such as /jobs/{submit.id}.");
	const result = reader.object("result");
	const read: AsyncMapping = {
		everyMs: reader.ms("everyMs", 10, 1000),
		state: readPointer(reader, "state") ?? "/status",
		done: reader.list("done"),
		failed: reader.list("failed"),
		cancelled: reader.list("cancelled"),
		missing: readStatuses(reader, "missing", [404, 410]),
		result: result && readCall(result, { roots: FOR_SUBMITTED, method: "GET" }),
		poll: readCall(reader, { roots: FOR_SUBMITTED, method: "GET" }),
	};
	if (read.done.length === 0) reader.fault("done", "is missing: write the states of a job that is done.");
	result?.end();
	reader.end();
	return read;
}

export function readProgress(reader: ObjectReader | undefined, isAsync: boolean): ProgressMapping | undefined {
	if (!reader) return undefined;
	const from = reader.oneOf("from", ["path", "poll"], "path");
	if (from === "path" && !reader.has("path")) reader.fault("path", "is missing: write it, or from: poll.");
	if (from === "poll" && !isAsync) reader.fault("from", "must not be poll without http.async.");
	const percent = readPointer(reader, "percent");
	if (percent === undefined) reader.fault("percent", "is missing: write a JSON pointer to the number.");
	const scale = reader.any("scale") ?? 1;
	if (typeof scale !== "number" || !(scale > 0)) reader.fault("scale", "must be a number above 0, such as 100.");
	const read: ProgressMapping = {
		from,
		call: from === "path" ? readCall(reader, { roots: FOR_SUBMITTED, method: "GET" }) : undefined,
		everyMs: reader.ms("everyMs", 10, 1000),
		percent: percent ?? "",
		scale: typeof scale === "number" ? scale : 1,
	};
	reader.end();
	return read;
}

/** `isAlone`: the server has one job at a time. */
export function readCancel(
	reader: ObjectReader,
	{ isAsync, isAlone }: { isAsync: boolean; isAlone: boolean },
): CancelMapping {
	const roots = isAsync ? FOR_SUBMITTED : FOR_JOB;
	const read: CancelMapping = {
		call: reader.has("path") ? readCall(reader, { roots, method: "POST" }) : undefined,
		ending: reader.oneOf("then", ["close", "wait", "kill"], "close"),
		waitMs: reader.ms("waitMs", 1, 5000),
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

export function readSleep(reader: ObjectReader | undefined): SleepMapping | undefined {
	if (!reader) return undefined;
	if (!reader.has("path")) reader.fault("path", "is missing: write the path of the call, such as /sleep.");
	const until = reader.object("until");
	const where = until && (until.has("at") || until.has("in")) ? readCondition(until) : undefined;
	const read: SleepMapping = {
		call: readCall(reader, { roots: FOR_NO_JOB, method: "POST" }),
		until: until && {
			call: readCall(until, { roots: FOR_NO_JOB, method: "GET" }),
			status: readStatuses(until, "status", [200]),
			where,
		},
	};
	until?.end();
	reader.end();
	return read;
}
