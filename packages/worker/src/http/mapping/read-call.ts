/** Reads what the calls of a mapping share: method, path, query, headers, body, lists of statuses, pointers. */
import { isObject, type ObjectReader } from "./mapping-reader.ts";
import { type Body, type Call, type FilePart, type FormFields, hasStatus, type StatusList } from "./mapping.ts";
import { namesIn, pointerFault } from "./template.ts";

/** First names that templates may use. Headers may also use `env`. */
export type Roots = readonly string[];

export interface CallOptions {
	roots: Roots;
	/** Default method. */
	method: string;
	/** Default path. */
	path?: string;
	/** Default body of methods that have one. */
	body?: Body;
	/** Whether the call may send files. */
	files?: boolean;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const BODILESS = ["GET", "DELETE"];
/** Set by the connection or the body, or never sent. Encoded answers are refused. */
const OWN_HEADERS = [
	...["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "origin"],
	"accept-encoding",
];
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

export function readCall(reader: ObjectReader, { roots, method, path = "/", body, files }: CallOptions): Call {
	const read: Call = {
		method: reader.text("method") ?? method,
		path: reader.text("path") ?? path,
		query: reader.texts("query"),
		headers: Object.fromEntries(
			Object.entries(reader.texts("headers")).map(([name, text]) => [name.toLowerCase(), text]),
		),
		body: undefined,
	};
	if (!METHODS.includes(read.method)) reader.fault("method", `must be one of ${METHODS.join(", ")}.`);
	checkPath(reader, "path", read.path, roots);
	checkNames(reader, "query", read.query, roots);
	for (const [name, text] of Object.entries(read.headers)) {
		if (!TOKEN.test(name)) reader.fault(`headers.${name}`, "is no name of a header.");
		if (OWN_HEADERS.includes(name)) reader.fault(`headers.${name}`, "cannot be set: remove it.");
		checkNames(reader, `headers.${name}`, text, [...roots, "env"]);
		for (const each of namesIn(text))
			if (/^env\.(?:RUNPOD|SLUICE)_/.test(each))
				reader.fault(`headers.${name}`, `must not send ${each}: variables of the worker itself are secret.`);
	}
	read.body = readBody(reader, { roots, files: files ?? false }) ?? (BODILESS.includes(read.method) ? undefined : body);
	return read;
}

function readBody(reader: ObjectReader, { roots, files }: { roots: Roots; files: boolean }): Body | undefined {
	const given = ["body", "form", "text"].filter((name) => reader.has(name));
	if (given.length > 1)
		reader.fault(given[1]!, `does not go with ${given[0]}: remove one of them, with null if it is of the preset.`);
	for (const name of given) checkNames(reader, name, reader.any(name), roots);
	const fields = readFields(reader);
	const parts = files ? reader.objects("files", (part) => readFile(part, roots)) : [];
	if (parts.length > 0) {
		for (const name of given)
			if (name !== "form") reader.fault(name, "does not go with files: write its members as form.");
		return { as: "multipart", fields, files: parts };
	}
	if (reader.has("form")) return { as: "form", fields };
	if (reader.has("text")) return { as: "text", template: reader.text("text") ?? "" };
	return reader.has("body") ? { as: "json", template: reader.any("body") } : undefined;
}

function readFields(reader: ObjectReader): FormFields {
	const form = reader.any("form") ?? {};
	if (isObject(form) || (typeof form === "string" && form === `{${namesIn(form)[0]}}`)) return form;
	reader.fault("form", 'must be an object of fields, or the name of one, such as "{input}".');
	return {};
}

function readFile(part: ObjectReader, roots: Roots): FilePart {
	const [field, from, name, type] = ["field", "from", "name", "type"].map((member) => part.text(member));
	if (!field) part.fault("field", "is missing: write the name of the form's field.");
	if (!from) part.fault("from", 'is missing: write where the file is, such as "{input.image}".');
	checkNames(part, "from", from, roots);
	checkNames(part, "name", name, roots);
	if (type !== undefined && !/^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.-]+)?$/.test(type))
		part.fault("type", "must be a content type, such as image/png.");
	return { field: field ?? "", from: from ?? "", name, type, required: part.flag("required", true) };
}

/** Makes a path that cannot be sent a fault. */
export function checkPath(reader: ObjectReader, member: string, path: string, roots: Roots): void {
	if (!/^\/[\x21-\x7e]*$/.test(path)) reader.fault(member, "must begin with / and have no spaces, such as /run.");
	if (namesIn(path.split("?")[1]).length > 0) reader.fault(member, "must not have names in its query: write query.");
	checkNames(reader, member, path, roots);
}

/** Makes each name of a template that it may not use a fault. */
export function checkNames(reader: ObjectReader, member: string, template: unknown, roots: Roots): void {
	for (const name of namesIn(template))
		if (!roots.includes(name.split(".")[0]!))
			reader.fault(member, `has the unknown name {${name}}. Expected one that begins with ${roots.join(", ")}.`);
}

/** A list such as [404, "5xx", "500-503"]. */
export function readStatuses(reader: ObjectReader, name: string, fallback: StatusList): StatusList {
	if (!reader.has(name)) return fallback;
	const list = reader.list(name);
	const valid = list.every((each) => {
		if (typeof each === "number") return Number.isInteger(each) && each >= 100 && each <= 599;
		return typeof each === "string" && /^(?:[1-5]xx|[1-5]\d\d-[1-5]\d\d)$/.test(each);
	});
	if (!valid) reader.fault(name, 'must be a list of statuses, such as [404, "5xx", "500-503"].');
	return valid ? (list as StatusList) : fallback;
}

/** Statuses of refusals. Those below 300 are none: an answer of 2xx may be a failure by `failed`. */
export function readRefusals(reader: ObjectReader, name: string, fallback: StatusList): StatusList {
	const list = readStatuses(reader, name, fallback);
	for (let status = 100; status < 300; status += 1) {
		if (!hasStatus(list, status)) continue;
		reader.fault(name, `must not have ${status}, which is no refusal: write http.failed for what its answer says.`);
		break;
	}
	return list;
}

/** A JSON pointer, perhaps with names. Undefined without the member. */
export function readPointer(reader: ObjectReader, name: string, roots: Roots = ["submit"]): string | undefined {
	const pointer = reader.text(name);
	const fault = pointer === undefined ? undefined : pointerFault(pointer);
	if (fault !== undefined) reader.fault(name, fault);
	checkNames(reader, name, pointer, roots);
	return pointer;
}
