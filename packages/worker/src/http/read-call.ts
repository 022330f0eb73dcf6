/** Reads what the calls of a mapping share: method, path, query, headers, body, lists of statuses, pointers. */
import type { Body, Call, FilePart, StatusList } from "./mapping.ts";
import { isObject, type ObjectReader } from "./mapping-reader.ts";
import { namesIn, pointerFault } from "./template.ts";

/** First names that a template may use. Headers may also use `env`. */
export interface CallNames {
	roots: readonly string[];
}

export interface CallOptions {
	names: CallNames;
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
/** Set by the connection or the body, or never sent. */
const OWN_HEADERS = ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "origin"];
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** Does not end the reader. */
export function readCall(reader: ObjectReader, { names, method, path = "/", body, files }: CallOptions): Call {
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
	if (!/^\/[\x21-\x7e]*$/.test(read.path)) reader.fault("path", "must begin with / and have no spaces.");
	if (namesIn(read.path.split("?")[1]).length > 0)
		reader.fault("path", "must not have names in its query: write query.");
	checkNames(reader, "path", read.path, names);
	checkNames(reader, "query", read.query, names);
	for (const [name, text] of Object.entries(read.headers)) {
		if (!TOKEN.test(name)) reader.fault(`headers.${name}`, "is no name of a header.");
		if (OWN_HEADERS.includes(name)) reader.fault(`headers.${name}`, "cannot be set: remove it.");
		checkNames(reader, `headers.${name}`, text, { roots: [...names.roots, "env"] });
		for (const each of namesIn(text))
			if (/^env\.(?:RUNPOD|SLUICE)_/.test(each))
				reader.fault(`headers.${name}`, `must not send ${each}: variables of the worker itself are secret.`);
	}
	read.body = readBody(reader, { names, files: files ?? false }) ?? (BODILESS.includes(read.method) ? undefined : body);
	return read;
}

function readBody(reader: ObjectReader, { names, files }: { names: CallNames; files: boolean }): Body | undefined {
	const given = ["body", "form", "text"].filter((name) => reader.has(name));
	if (given.length > 1) reader.fault(given[1]!, `does not go with ${given[0]}: a request has one body.`);
	for (const name of given) checkNames(reader, name, reader.any(name), names);
	const form = reader.has("form") ? reader.any("form") : {};
	if (!isObject(form)) reader.fault("form", "must be an object of fields.");
	const fields = isObject(form) ? form : {};
	const parts = files ? reader.objects("files").map((part) => readFile(part, names)) : [];
	if (parts.length > 0) {
		for (const name of given)
			if (name !== "form") reader.fault(name, "does not go with files: write its members as form.");
		return { as: "multipart", fields, files: parts };
	}
	if (reader.has("form")) return { as: "form", fields };
	if (reader.has("text")) return { as: "text", template: reader.text("text") ?? "" };
	return reader.has("body") ? { as: "json", template: reader.any("body") } : undefined;
}

function readFile(part: ObjectReader, names: CallNames): FilePart {
	const field = part.text("field");
	const from = part.text("from");
	if (!field) part.fault("field", "is missing: write the name of the form's field.");
	if (!from) part.fault("from", 'is missing: write where the file is, such as "{input.image}".');
	checkNames(part, "from", from, names);
	const type = part.text("type");
	if (type !== undefined && !/^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.-]+)?$/.test(type))
		part.fault("type", "must be a content type, such as image/png.");
	const required = part.any("required") ?? true;
	if (typeof required !== "boolean") part.fault("required", "must be true or false.");
	const name = part.text("name");
	checkNames(part, "name", name, names);
	part.end();
	return { field: field ?? "", from: from ?? "", name, type, required: required !== false };
}

/** Makes each name of a template that it may not use a fault. */
export function checkNames(reader: ObjectReader, member: string, template: unknown, { roots }: CallNames): void {
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

/** Undefined without the member. */
export function textPointer(reader: ObjectReader, name: string): string | undefined {
	const pointer = reader.text(name);
	const fault = pointer === undefined ? undefined : pointerFault(pointer);
	if (fault !== undefined) reader.fault(name, fault);
	return pointer;
}
