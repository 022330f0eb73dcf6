/** Makes a request of the templates of a call and the values of a job. */
import { createHash } from "node:crypto";
import type { Job } from "../../types.ts";
import { kitVersion } from "../../version.ts";
import { JobFailure } from "../job-failure.ts";
import { mayHaveLargeIntegers, parseExact } from "../mapping/exact-json.ts";
import { isObject } from "../mapping/mapping-reader.ts";
import type { Body, Call, FilePart, FormFields, Mapping } from "../mapping/mapping.ts";
import { fill, fillHeaders, fillPath, fillTexts, type Names, textOf } from "../mapping/template.ts";
import { decodedBase64 } from "./base64.ts";
import type { ConnectOptions } from "./connection.ts";
import type { RequestBody } from "./exchange.ts";
import { type Fetched, fetchFile } from "./file-url.ts";
import { multipart, type Part, partType, textBody } from "./multipart.ts";

export interface PreparedRequest {
	method: string;
	path: string;
	headers: Record<string, string>;
	body: RequestBody | undefined;
	/** Frees fetched files. */
	release(): Promise<void>;
}

/** What one job is, for its requests. */
export interface JobValues {
	names: Names;
	/** Text of the input with defaults, sent byte for byte where the body is wholly `{input}`. */
	inputText: string;
	/** Sent in place of {@link inputText}. */
	form?: readonly Part[] | undefined;
	/** Sent with each request of the job. */
	headers: Record<string, string>;
	/** Sent with the request that runs the job only: a poll with it could get the answer to the submission. */
	idempotencyKey: string;
}

export interface RequestContext extends ConnectOptions {
	urls: Mapping["urls"];
	/** Address below which files of jobs are. They are fetched whatever `urls` says. */
	ownFiles?: string | undefined;
	/** Files that the job has fetched. */
	fetched: Fetched;
	randomId: () => string;
	/** Where temporary files are. Default: that of the system. */
	folder?: string | undefined;
}

/** `env`: variables for headers. `port`: that of the server. */
export function jobValues(
	job: Job,
	{ mapping, env, port }: { mapping: Mapping; env: Readonly<Record<string, unknown>>; port: number | undefined },
): JobValues {
	// Ids of /runsync have a prefix that makes them no UUID.
	const uuid = job.id.replace(/^sync-/, "");
	// A service that does not number runs has one key for all of a job.
	const run = job.run ?? 1;
	const added = Object.entries(mapping.defaults).filter(
		([name]) => !(isObject(job.input) && Object.hasOwn(job.input, name)),
	);
	const given = mayHaveLargeIntegers(job.inputText) ? parseExact(job.inputText) : job.input;
	const merges = added.length > 0 && isObject(given);
	const input = merges ? { ...Object.fromEntries(added), ...given } : given;
	return {
		names: { input, job: { id: job.id, uuid, run, runUuid: uuidOf(`${uuid}-${run}`) }, port, env },
		inputText: merges ? withMembers(job.inputText, added) : job.inputText,
		headers: { "x-request-id": headerText(job.id) },
		idempotencyKey: headerText(`${uuid}-${run}`),
	};
}

/** A UUID made of a text (RFC 9562, version 8), for servers that take no other id. */
function uuidOf(text: string): string {
	const hash = createHash("sha256").update(text).digest();
	hash[6] = (hash[6]! & 0x0f) | 0x80;
	hash[8] = (hash[8]! & 0x3f) | 0x80;
	const hex = hash.toString("hex", 0, 16);
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Adds members to the text of a JSON object, whose own text stays as it is. */
function withMembers(text: string, members: readonly (readonly [string, unknown])[]): string {
	const added = JSON.stringify(Object.fromEntries(members)).slice(0, -1);
	const rest = text.slice(text.indexOf("{") + 1);
	return rest.trimStart().startsWith("}") ? `${added}}` : `${added},${rest}`;
}

/** Ids of other services may have any characters. */
function headerText(id: string): string {
	return id.replace(/[^\x21-\x7e]/g, "_").slice(0, 200);
}

/** Throws a {@link JobFailure} for values that the request needs and the job lacks. */
export async function prepareRequest(
	call: Call,
	{ names, inputText, form, headers }: Omit<JobValues, "idempotencyKey">,
	context: RequestContext,
): Promise<PreparedRequest> {
	const path = pathOf(call, names);
	const release: (() => Promise<void>)[] = [];
	try {
		const content = call.body && (await contentOf(call.body, { names, inputText, form, context, release }));
		return {
			method: call.method,
			path,
			headers: {
				"user-agent": kitVersion.replace("sluice/", "Sluice-HTTP/"),
				accept: "*/*",
				...headers,
				...(content && { "content-type": content.type }),
				...fillHeaders(call.headers, names),
			},
			body: content?.body,
			release: async () => void (await Promise.all(release.map((each) => each()))),
		};
	} catch (error) {
		await Promise.all(release.map((each) => each()));
		throw error;
	}
}

/** Path and query. */
function pathOf(call: Call, names: Names): string {
	const path = fillPath(call.path, names);
	const query = new URLSearchParams(fillTexts(call.query, names)).toString();
	return query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

interface ContentOptions {
	names: Names;
	inputText: string;
	form: readonly Part[] | undefined;
	context: RequestContext;
	/** Gets what frees the files of the body. */
	release: (() => Promise<void>)[];
}

async function contentOf(body: Body, options: ContentOptions): Promise<{ type: string; body: RequestBody }> {
	const { names, inputText, form, context } = options;
	if (body.as === "json") {
		if (body.template === "{input}" && form) return multipart(form, context.randomId());
		if (body.template === "{input}") return { type: "application/json", body: textBody(inputText) };
		return { type: "application/json", body: textBody(JSON.stringify(needed(body.template, names))) };
	}
	if (body.as === "text")
		return { type: "text/plain; charset=utf-8", body: textBody(textOf(needed(body.template, names))) };
	const fields = fieldsOf(body.fields, names);
	if (body.as === "form")
		return { type: "application/x-www-form-urlencoded", body: textBody(new URLSearchParams(fields).toString()) };
	const files: Part[] = [];
	for (const file of body.files) {
		const part = await partOf(file, options);
		if (part) files.push(part);
	}
	const texts = fields.filter(([name]) => !files.some(({ field }) => field === name));
	const parts: Part[] = texts.map(([field, value]) => ({ field, content: textBody(value) }));
	return multipart([...parts, ...files], context.randomId());
}

/** Values of a job are no templates. A member that is null is left out. */
function fieldsOf(fields: FormFields, names: Names): [string, string][] {
	if (typeof fields !== "string") return fillTexts(fields, names);
	const value = fill(fields, names);
	if (!isObject(value))
		throw new JobFailure(`${fields.slice(1, -1)} must be an object: its members are a form's fields.`);
	return Object.entries(value).flatMap(([name, each]): [string, string][] =>
		each === undefined || each === null ? [] : [[name, textOf(each)]],
	);
}

function needed(template: unknown, names: Names): unknown {
	const value = fill(template, names);
	if (value !== undefined) return value;
	throw new JobFailure(`The job's input lacks what the request's body is made of: ${textOf(template)}.`);
}

async function partOf(file: FilePart, { names, context, release }: ContentOptions): Promise<Part | undefined> {
	const value = fill(file.from, names);
	const what = file.from.replaceAll(/[{}]/g, "");
	if (value === undefined || value === null) {
		if (!file.required) return undefined;
		throw new JobFailure(`${what} is missing: it is the file ${file.field}.`);
	}
	if (typeof value !== "string") throw new JobFailure(`${what} must be a text: base64, a data: URL or an address.`);
	const given = await contentOfFile(value, what, context);
	if (given.release) release.push(given.release);
	const name = file.name === undefined ? given.name : fill(file.name, names);
	return {
		field: file.field,
		file: {
			name: typeof name === "string" ? name : file.field,
			type: file.type ?? given.type ?? "application/octet-stream",
		},
		content: given.content,
	};
}

interface FileContent {
	content: RequestBody;
	type?: string | undefined;
	name?: string | undefined;
	release?: () => Promise<void>;
}

async function contentOfFile(
	value: string,
	what: string,
	{ ownFiles, ...options }: RequestContext,
): Promise<FileContent> {
	if (/^https?:/i.test(value)) {
		const isOwn = ownFiles !== undefined && URL.parse(value)?.href.startsWith(`${ownFiles.replace(/\/$/, "")}/`);
		const urls = isOwn ? "any" : options.urls;
		if (urls === "never") throw new JobFailure(`${what} must be base64 or a data: URL: addresses are not fetched.`);
		const { spool, type, name } = await fetchFile(value, what, { ...options, urls });
		const content = { length: spool.bytes, pieces: () => spool.pieces() };
		return { content, type: partType(type), name, release: () => spool.release() };
	}
	if (!/^data:/i.test(value)) return { content: decodedBase64(value, what) };
	const comma = value.indexOf(",");
	const head = value.slice(5, Math.max(comma, 5));
	if (comma === -1 || !/;base64$/i.test(head)) throw new JobFailure(`${what} must be a data: URL with base64.`);
	return { content: decodedBase64(value.slice(comma + 1), what), type: partType(head.slice(0, -7)) };
}
