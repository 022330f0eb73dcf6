/** Signs requests to an S3 bucket: AWS Signature Version 4, as a header and as a link. */
import { createHash, createHmac } from "node:crypto";

export interface Credentials {
	accessKeyId: string;
	secretAccessKey: string;
	region: string;
}

/** Lifetime of a link, seconds: the most that S3 allows. */
export const LINK_SECONDS = 604_800;

const ALGORITHM = "AWS4-HMAC-SHA256";

interface Signed {
	method: string;
	url: URL;
	/** ms since 1970. */
	at: number;
	credentials: Credentials;
}

/** Headers of a request whose body has this SHA-256, in hex digits. `headers`: more that are signed, in lower case. */
export function signedHeaders({
	sha256,
	headers,
	...q
}: Signed & { sha256: string; headers: Readonly<Record<string, string>> }): Record<string, string> {
	const time = timeText(q.at);
	const all = { ...headers, host: q.url.host, "x-amz-content-sha256": sha256, "x-amz-date": time };
	const names = Object.keys(all).toSorted();
	const signature = signatureOf(q, { query: "", headers: all, names, payload: sha256, time });
	const scope = scopeOf(q.credentials, time);
	const fields = [
		`Credential=${q.credentials.accessKeyId}/${scope}`,
		`SignedHeaders=${names.join(";")}`,
		`Signature=${signature}`,
	];
	return { ...all, authorization: `${ALGORITHM} ${fields.join(", ")}` };
}

/** A link by which anyone may read the object for {@link LINK_SECONDS}. */
export function signedLink(q: Omit<Signed, "method">): string {
	const time = timeText(q.at);
	const parameters = {
		"X-Amz-Algorithm": ALGORITHM,
		"X-Amz-Credential": `${q.credentials.accessKeyId}/${scopeOf(q.credentials, time)}`,
		"X-Amz-Date": time,
		"X-Amz-Expires": String(LINK_SECONDS),
		"X-Amz-SignedHeaders": "host",
	};
	// In the order of their names, as the signature needs them.
	const query = Object.entries(parameters)
		.map(([name, value]) => `${name}=${encoded(value)}`)
		.join("&");
	const signature = signatureOf(
		{ ...q, method: "GET" },
		{ query, headers: { host: q.url.host }, names: ["host"], payload: "UNSIGNED-PAYLOAD", time },
	);
	return `${q.url.href}?${query}&X-Amz-Signature=${signature}`;
}

/** Encodes all but the characters that RFC 3986 leaves as they are. */
export function encoded(text: string): string {
	return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

interface Canonical {
	query: string;
	headers: Readonly<Record<string, string>>;
	/** Of the headers, sorted. */
	names: readonly string[];
	payload: string;
	time: string;
}

function signatureOf({ method, url, credentials }: Signed, c: Canonical): string {
	const lines = c.names.map((name) => `${name}:${c.headers[name]!.trim()}\n`).join("");
	const request = [method, url.pathname, c.query, lines, c.names.join(";"), c.payload].join("\n");
	const hash = createHash("sha256").update(request).digest("hex");
	const text = [ALGORITHM, c.time, scopeOf(credentials, c.time), hash].join("\n");
	const steps = [c.time.slice(0, 8), credentials.region, "s3", "aws4_request"];
	const key = steps.reduce<string | Buffer>(
		(before, step) => createHmac("sha256", before).update(step).digest(),
		`AWS4${credentials.secretAccessKey}`,
	);
	return createHmac("sha256", key).update(text).digest("hex");
}

function scopeOf({ region }: Credentials, time: string): string {
	return `${time.slice(0, 8)}/${region}/s3/aws4_request`;
}

/** `20261201T120000Z`. */
function timeText(at: number): string {
	return new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
}
