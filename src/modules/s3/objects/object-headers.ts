/** Headers that are stored with an object, and those with which it is answered (D59). */
import { fileNameParameters, SHOWN } from "../../files/send.ts";
import { S3Error } from "../errors.ts";
import type { S3Request } from "../requests/request.ts";
import type { ObjectHeaders } from "./store.ts";

const STORED = [
	"content-type",
	"cache-control",
	"content-disposition",
	"content-encoding",
	"content-language",
	"expires",
];

const META = "x-amz-meta-";

/** What S3 has and this face has not: stored or applied silently, it would be missed later. */
const REFUSED = new RegExp(
	"^x-amz-(?:server-side-encryption|tagging|object-lock|grant-|website-redirect-location|write-offset-bytes|" +
		"copy-source-(?:if-|range|server-side))",
);
const ACLS: ReadonlySet<string> = new Set(["private", "bucket-owner-full-control"]);

export function refuseFeatures({ call, header, query }: S3Request): void {
	const named = [...Object.keys(call.req.headers), ...query.keys()].find((name) => REFUSED.test(name.toLowerCase()));
	const acl = header("x-amz-acl");
	if (named !== undefined) throw notImplemented(named);
	if (acl !== undefined && !ACLS.has(acl)) throw notImplemented(`x-amz-acl: ${acl.slice(0, 40)}`);
}

export function notImplemented(what: string): S3Error {
	return new S3Error("NotImplemented", `${what} is not supported here.`);
}

/** Throws `InvalidArgument` for a value that no header may have. */
export function storedHeaders({ call, header, query }: S3Request): ObjectHeaders {
	const meta = [...Object.keys(call.req.headers), ...query.keys()].filter((name) => name.startsWith(META));
	const headers: Record<string, string> = {};
	for (const name of [...STORED, ...meta]) {
		const value = name === "content-encoding" ? codings(header(name)) : header(name);
		if (value !== undefined && value !== "") headers[name] = sendable(name, value);
	}
	return headers;
}

/** `aws-chunked` is the form of the upload, not of the object. */
function codings(given: string | undefined): string | undefined {
	return given
		?.split(",")
		.map((each) => each.trim())
		.filter((each) => each !== "aws-chunked")
		.join(",");
}

function sendable(name: string, value: string): string {
	if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value) && /^[\w.-]{1,128}$/.test(name)) return value;
	throw new S3Error("InvalidArgument", `${name} must be a header whose value has no control characters.`);
}

/** An object is served at the origin of the console, and anyone with credentials may have written it. */
export function answerHeaders({ key, query }: S3Request, stored: ObjectHeaders): Record<string, string> {
	const headers: Record<string, string> = { "content-type": "application/octet-stream", ...stored };
	for (const name of STORED) {
		const asked = query.get(`response-${name}`);
		if (asked !== undefined) headers[name] = sendable(name, asked);
	}
	const isShown = SHOWN.test(headers["content-type"]!.split(";")[0]!.trim().toLowerCase());
	const wanted = headers["content-disposition"];
	if (!isShown && !/^attachment\b/i.test(wanted ?? ""))
		headers["content-disposition"] = `attachment; ${fileNameParameters(key.split("/").at(-1) || "object")}`;
	return {
		"cache-control": "private, no-cache",
		...headers,
		"Content-Security-Policy": "sandbox; default-src 'none'",
		"X-Content-Type-Options": "nosniff",
	};
}
