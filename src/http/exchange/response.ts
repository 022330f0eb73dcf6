/** One id for a request: in its answer, the logs, the audit log and with the job that it submits (D51). */
import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";

/** 1 to 128 printable ASCII characters without spaces and quotes, and no API key that was put there by mistake. */
const REQUEST_ID = /^(?!sluice_)[!#-&(-~]{1,128}$/;

/** `X-Request-Id` of the client. Undefined if it sent none, or one that cannot be used. */
export function sentRequestId({ headers }: IncomingMessage): string | undefined {
	const id = headers["x-request-id"];
	return typeof id === "string" && REQUEST_ID.test(id) ? id : undefined;
}

/** Whatever sends its head, the head has the id. Another id that was set before stays: that of a job (D32, D41). */
export class Response extends ServerResponse {
	requestId = "";

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
