/** What answers of the S3 face have in common (D59). */
import type { Call } from "../../kernel/http/exchange/call.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import { answerXml, XML_TYPE } from "./xml.ts";

export const quoted = (etag: string): string => `"${etag}"`;

/** Clients name a request by it when they report a fault. */
export function nameRequest({ res }: Call): void {
	res.setHeader("x-amz-request-id", res.requestId);
}

export async function sendXml(call: Call, name: string, content: string): Promise<void> {
	const body = Buffer.from(answerXml(name, content));
	await hold(call, body.length);
	call.res.writeHead(200, {
		"Content-Type": XML_TYPE,
		"Content-Length": String(body.length),
		"X-Content-Type-Options": "nosniff",
		"Cache-Control": "no-store",
	});
	call.res.end(body);
}

export function sendEmpty({ res }: Call, headers: Readonly<Record<string, string>> = {}, status = 200): void {
	res.writeHead(status, status === 200 ? { "Content-Length": "0", ...headers } : headers);
	res.end();
}
