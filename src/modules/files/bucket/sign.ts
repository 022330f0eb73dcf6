/** Signs requests to the bucket: AWS Signature Version 4, in the header `Authorization`. */
import { createHash, createHmac } from "node:crypto";
import type { BucketSettings } from "./settings.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

/** SHA-256 of a request without a body. */
export const NO_BODY = createHash("sha256").digest("hex");

export interface Unsigned {
	method: string;
	host: string;
	/** Encoded, as it is sent. */
	path: string;
	query: Readonly<Record<string, string>>;
	/** SHA-256 of the body, hexadecimal. */
	payload: string;
}

/** RFC 3986: all but unreserved characters. */
const encoded = (text: string): string =>
	encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** The query as it is signed and sent: sorted by name. */
export function queryText(query: Unsigned["query"]): string {
	const names = Object.keys(query).toSorted();
	return names.map((name) => `${encoded(name)}=${encoded(query[name]!)}`).join("&");
}

/** Returns the headers that make it signed. `now`: time of day, ms. */
export function signedHeaders(
	{ method, host, path, query, payload }: Unsigned,
	{ accessKeyId, secretAccessKey, region }: Pick<BucketSettings, "accessKeyId" | "secretAccessKey" | "region">,
	now: number,
): Record<string, string> {
	const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
	const headers = { host, "x-amz-content-sha256": payload, "x-amz-date": time };
	const names = Object.keys(headers).join(";");
	const lines = Object.entries(headers).map((pair) => pair.join(":"));
	const request = [method, path, queryText(query), ...lines, "", names, payload].join("\n");
	const scope = [time.slice(0, 8), region, "s3", "aws4_request"];
	const text = [ALGORITHM, time, scope.join("/"), createHash("sha256").update(request).digest("hex")].join("\n");
	const hmac = (key: string | Buffer, part: string): Buffer => createHmac("sha256", key).update(part).digest();
	const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
	const credential = `${accessKeyId}/${scope.join("/")}`;
	const signature = hmac(key, text).toString("hex");
	return {
		...headers,
		authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
	};
}
