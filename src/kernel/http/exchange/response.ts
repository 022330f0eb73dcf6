/** Gives each request one id, which its answer, the logs, the audit log and the job that it submits have (D51). */
import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";

/** 1 to 128 printable ASCII characters without spaces and quotes. */
const REQUEST_ID = /^[!#-&(-~]{1,128}$/;

/** Prefixes of API keys, worker tokens and webhook secrets. */
const SECRET_FORMS = ["sluice_", "whsec_"];

/**
 * Returns the client's `X-Request-Id`; undefined if it sent none or an unusable one. The id goes into logs, so it must
 * not contain a credential that was put there by mistake. Only the request itself decides: a comparison with the
 * operator's key would confirm a guess of that key.
 */
export function requestIdIn({ headers }: IncomingMessage): string | undefined {
	const id = headers["x-request-id"];
	if (typeof id !== "string" || !REQUEST_ID.test(id)) return undefined;
	const credential = headers.authorization?.split(" ").at(-1);
	const isSecret = SECRET_FORMS.some((form) => id.includes(form)) || (credential && id.includes(credential));
	return isSecret ? undefined : id;
}

/** A response whose head always has the request id. An id that was set before, that of a job, is kept (D32, D41). */
export class Response extends ServerResponse {
	requestId = "";
	/** The request id for logs, the audit log and traces, which do not show an id that contains the operator's key. */
	loggedRequestId = "";
	/** The request id, if the client sent it. */
	sentRequestId: string | undefined;

	/** `headers` as a list: name, value, name, value. */
	override writeHead(status: number, headers?: unknown): this {
		const given = headers as OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
		if (this.hasHeader("x-request-id")) return super.writeHead(status, given);
		if (Array.isArray(given)) {
			// Not a spread, which would cost more than the rest of the head.
			const all = given.slice();
			all.push("X-Request-Id", this.requestId);
			return super.writeHead(status, all);
		}
		return super.writeHead(status, { ...given, "X-Request-Id": this.requestId });
	}
}
