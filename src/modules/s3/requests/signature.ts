/** AWS Signature Version 4 (D59): checks signatures of headers and of links, and signs links. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { S3Error } from "../errors.ts";

export const ALGORITHM = "AWS4-HMAC-SHA256";
export const UNSIGNED = "UNSIGNED-PAYLOAD";

/** Life of a link, s, at most. */
export const LONGEST_LINK_S = 604_800;

const SKEW_MS = 15 * 60_000;
const MOST_SIGNED_HEADERS = 64;

export interface SentRequest {
	method: string;
	/** The path as it was sent: neither decoded nor normalised. */
	path: string;
	/** Decoded names and values. */
	query: readonly (readonly [name: string, value: string])[];
	/** Values of headers that were sent several times, by name in lower case. */
	headers: ReadonlyMap<string, readonly string[]>;
}

export interface Signature {
	keyId: string;
	/** Such as 20261201T120000Z. */
	time: string;
	/** `{day}/{region}/{service}/aws4_request`. */
	scope: string;
	signedHeaders: readonly string[];
	signature: string;
	/** Seconds; set for a link. */
	expires: number | undefined;
	/** The SHA-256 of the body, or one of the names for bodies whose hash is not known before. */
	payload: string;
}

/** An address that a client may have signed. */
export interface SignedPlace {
	host: string;
	/** Neither decoded nor normalised. */
	path: string;
}

/** What signatures of chunks are made with. */
export interface ChunkSigner extends Pick<Signature, "time" | "scope" | "signature"> {
	key: Buffer;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
export const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** RFC 3986: all but unreserved characters. */
export function encodeUri(text: string): string {
	return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Throws `AccessDenied` without a signature, `NotImplemented` for one of version 2. */
export function readSignature({ query, headers }: SentRequest): Signature {
	const header = headers.get("authorization")?.[0];
	const value = (name: string): string | undefined => query.find(([each]) => each === name)?.[1];
	if (header?.startsWith(ALGORITHM)) return ofHeader(header.slice(ALGORITHM.length), headers);
	if (value("X-Amz-Algorithm") === ALGORITHM) return ofLink(value, headers);
	if (header?.startsWith("AWS ") || value("AWSAccessKeyId") !== undefined)
		throw new S3Error(
			"NotImplemented",
			`The request is signed with Signature Version 2. Use Signature Version 4 (${ALGORITHM}).`,
		);
	throw new S3Error(
		"AccessDenied",
		"The request is not signed. Sign it with the credentials of the endpoint (AWS Signature Version 4).",
	);
}

function nameAndValue(part: string): [name: string, value: string] {
	const at = part.indexOf("=");
	return [part.slice(0, Math.max(0, at)), part.slice(at + 1)];
}

function ofHeader(text: string, headers: SentRequest["headers"]): Signature {
	const parts = Object.fromEntries(text.split(/[,\s]/).map(nameAndValue));
	const payload = headers.get("x-amz-content-sha256")?.[0];
	const time = headers.get("x-amz-date")?.[0] ?? fromHttpDate(headers.get("date")?.[0]);
	const read = fields(parts["Credential"], parts["SignedHeaders"], parts["Signature"], time);
	if (read && payload !== undefined) return { ...read, payload, expires: undefined };
	throw new S3Error(
		"AuthorizationHeaderMalformed",
		"The header Authorization needs Credential, SignedHeaders and Signature, and the request needs the headers " +
			"x-amz-date and x-amz-content-sha256.",
	);
}

function ofLink(value: (name: string) => string | undefined, headers: SentRequest["headers"]): Signature {
	const read = fields(
		value("X-Amz-Credential"),
		value("X-Amz-SignedHeaders"),
		value("X-Amz-Signature"),
		value("X-Amz-Date"),
	);
	const expires = Number(value("X-Amz-Expires"));
	if (read && Number.isInteger(expires) && expires >= 1 && expires <= LONGEST_LINK_S) {
		const payload = value("X-Amz-Content-Sha256") ?? headers.get("x-amz-content-sha256")?.[0] ?? UNSIGNED;
		return { ...read, payload, expires };
	}
	throw new S3Error(
		"AuthorizationQueryParametersError",
		"A link needs X-Amz-Credential, X-Amz-Date, X-Amz-SignedHeaders, X-Amz-Signature and X-Amz-Expires, a whole " +
			`number from 1 to ${LONGEST_LINK_S}.`,
	);
}

const CREDENTIAL = /^([^/]{1,128})\/((\d{8})\/[\w-]{1,64}\/\w{1,32}\/aws4_request)$/;

function fields(credential = "", signedHeaders = "", signature = "", time = "") {
	const [, keyId, scope, day] = CREDENTIAL.exec(credential) ?? [];
	const names = signedHeaders.toLowerCase().split(";");
	const isRead =
		keyId !== undefined &&
		names.length <= MOST_SIGNED_HEADERS &&
		names.includes("host") &&
		/^[0-9a-f]{64}$/.test(signature) &&
		/^\d{8}T\d{6}Z$/.test(time) &&
		time.startsWith(day!);
	return isRead ? { keyId, scope: scope!, signedHeaders: names, signature, time } : undefined;
}

function fromHttpDate(date: string | undefined): string | undefined {
	const at = Date.parse(date ?? "");
	return Number.isNaN(at) ? undefined : timeText(at);
}

/** `at`: time of day, ms. */
export function timeText(at: number): string {
	return new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
}

function msOf(time: string): number {
	return Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

/**
 * Throws unless one of the secrets has signed the request for one of the places. `now`: time of day, ms. A link lives
 * as long as it says; another request is refused when its time is over 15 minutes from now.
 */
export function verify(
	request: SentRequest,
	its: Signature,
	{ secrets, places, now }: { secrets: readonly string[]; places: readonly SignedPlace[]; now: number },
): ChunkSigner {
	checkTime(its, now);
	refuseUnsigned(request, its);
	const given = Buffer.from(its.signature, "hex");
	const keys = secrets.map((secret) => signingKey(secret, its.scope));
	for (const place of places) {
		const text = stringToSign(its, canonical(request, its, place));
		for (const key of keys) if (timingSafeEqual(hmac(key, text), given)) return { ...its, key };
	}
	throw new S3Error(
		"SignatureDoesNotMatch",
		"The signature is not that of this request: the secret is another one, or a proxy changed the path, the query, " +
			"a signed header, or the host; then set publicUrl to the address that clients use.",
	);
}

function checkTime({ time, expires }: Signature, now: number): void {
	const at = msOf(time);
	if (expires !== undefined && now > at + expires * 1000)
		throw new S3Error("AccessDenied", "The link has expired. Ask for a new one.");
	const isSkewed = expires === undefined ? !(Math.abs(now - at) <= SKEW_MS) : !(at - now <= SKEW_MS);
	if (isSkewed)
		throw new S3Error(
			"RequestTimeTooSkewed",
			`The request was signed at ${time}, and the time here is ${timeText(now)}. Set the clock right.`,
		);
}

/** A client with a link could add them, such as the source of a copy. */
function refuseUnsigned({ headers }: SentRequest, { signedHeaders }: Signature): void {
	for (const name of headers.keys())
		if (name.startsWith("x-amz-") && !signedHeaders.includes(name))
			throw new S3Error("AccessDenied", `The header ${name} was sent and is not signed.`);
}

function canonical(
	{ method, query, headers }: Omit<SentRequest, "path">,
	its: Signature,
	{ host, path }: SignedPlace,
): string {
	const pairs = query
		.filter(([name]) => name !== "X-Amz-Signature")
		.map(([name, value]) => [encodeUri(name), encodeUri(value)] as const)
		.toSorted(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)));
	const valueOf = (name: string): string =>
		name === "host" ? host : (headers.get(name) ?? []).map((each) => each.trim().replaceAll(/ +/g, " ")).join(",");
	return [
		method,
		path,
		pairs.map((pair) => pair.join("=")).join("&"),
		...its.signedHeaders.map((name) => `${name}:${valueOf(name)}`),
		"",
		its.signedHeaders.join(";"),
		its.payload,
	].join("\n");
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const stringToSign = ({ time, scope }: Pick<Signature, "time" | "scope">, request: string): string =>
	[ALGORITHM, time, scope, sha256(request)].join("\n");

function signingKey(secret: string, scope: string): Buffer {
	return scope.split("/").reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${secret}`) as Buffer;
}

/** The signature of a chunk, or with the prefix `-TRAILER` that of the trailers: `hashes` are what it covers. */
export function chunkSignature(
	{ key, time, scope }: ChunkSigner,
	kind: "PAYLOAD" | "TRAILER",
	before: string,
	hashes: readonly string[],
): string {
	return hmac(key, [`${ALGORITHM}-${kind}`, time, scope, before, ...hashes].join("\n")).toString("hex");
}

/**
 * A link by which anyone may read the object at `url` for `expires` seconds. `url`: with an encoded path, which is not
 * normalised. `now`: time of day, ms.
 */
export function signedLink(
	url: string,
	{ keyId, secretKey }: { keyId: string; secretKey: string },
	{ now, expires }: { now: number; expires: number },
): string {
	const time = timeText(now);
	const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
	const query: [string, string][] = [
		["X-Amz-Algorithm", ALGORITHM],
		["X-Amz-Credential", `${keyId}/${scope}`],
		["X-Amz-Date", time],
		["X-Amz-Expires", String(expires)],
		["X-Amz-SignedHeaders", "host"],
	];
	const its = { keyId, time, scope, signedHeaders: ["host"], signature: "", expires, payload: UNSIGNED };
	const [, host = "", path = ""] = /^https?:\/\/([^/]*)(\/.*)$/.exec(url) ?? [];
	const request = { method: "GET", query, headers: new Map() };
	const text = stringToSign(its, canonical(request, its, { host, path }));
	const signature = hmac(signingKey(secretKey, scope), text).toString("hex");
	const pairs = [...query, ["X-Amz-Signature", signature] as const];
	return `${url}?${pairs.map((pair) => pair.map(encodeUri).join("=")).join("&")}`;
}
