/** One id for a request: in its answer, the logs, the audit log and with the job that it submits (D51). */
import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";

/** 1 to 128 printable ASCII characters without spaces and quotes. */
const REQUEST_ID = /^[!#-&(-~]{1,128}$/;

/** How API keys, tokens of workers and secrets of webhooks begin. */
const SECRET_FORMS = ["sluice_", "whsec_"];

/**
 * `X-Request-Id` of the client. Undefined if it sent none, or one that cannot be used: it goes into logs, so it must
 * have no credential that was put there by mistake. Only the request itself decides: a comparison with the operator's
 * key would confirm the right guess of a client that sends guesses.
 */
export function requestIdIn({ headers }: IncomingMessage): string | undefined {
	const id = headers["x-request-id"];
	if (typeof id !== "string" || !REQUEST_ID.test(id)) return undefined;
	const credential = headers.authorization?.split(" ").at(-1);
	const isSecret = SECRET_FORMS.some((form) => id.includes(form)) || (credential && id.includes(credential));
	return isSecret ? undefined : id;
}

/** Whatever sends its head, the head has the id. Another id that was set before stays: that of a job (D32, D41). */
export class Response extends ServerResponse {
	requestId = "";
	/** The same for logs, the audit log and traces, where an id with the operator's key in it is not shown. */
	loggedRequestId = "";
	/** The same, if it is the client's. */
	sentRequestId: string | undefined;

	/** `headers` as a list: name, value, name, value. */
	override writeHead(status: number, headers?: unknown): this {
		const given = headers as OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
		if (this.hasHeader("x-request-id")) return super.writeHead(status, given);
		if (Array.isArray(given)) {
			// A spread costs more than the rest of the head.
			const all = given.slice();
			all.push("X-Request-Id", this.requestId);
			return super.writeHead(status, all);
		}
		return super.writeHead(status, { ...given, "X-Request-Id": this.requestId });
	}
}
