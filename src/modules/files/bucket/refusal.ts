/** Why a request to the bucket had no success, as a sentence for the operator. */
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";

/** What the bucket answered instead of a success. */
export class Refusal extends Error {
	readonly status: number;
	/** S3's code, such as `AccessDenied`; empty if the answer had none. */
	readonly code: string;
	constructor(status: number, code: string) {
		super(code === "" ? String(status) : `${status} ${code}`);
		this.status = status;
		this.code = code;
	}
}

const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const PASSING_CODES: ReadonlySet<string> = new Set([
	"InternalError",
	"RequestTimeout",
	"ServiceUnavailable",
	"SlowDown",
]);
const FULL_CODES: ReadonlySet<string> = new Set(["QuotaExceeded", "EntityTooLarge", "XMinioStorageFull"]);

/** Codes of undici and Node for which the request itself is at fault. */
const OWN_FAULT = /^(?:UND_ERR_(?:INVALID_ARG|NOT_SUPPORTED)$|ERR_(?!SSL_|TLS_))/;

/** Connections that failed: errors of sockets, of TLS and of undici. */
function connectionFault(error: unknown): string | undefined {
	const { code } = error as { code?: unknown };
	return typeof code === "string" && !OWN_FAULT.test(code) ? code : undefined;
}

const TIMEOUTS: ReadonlySet<unknown> = new Set([
	...["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"],
]);

/** Whether the bucket was silent for as long as it may be. */
export function isTimeout(error: unknown): boolean {
	return TIMEOUTS.has((error as { code?: unknown }).code);
}

/** Whether the same request may succeed soon. */
export function isPassing(error: unknown): boolean {
	if (error instanceof Refusal) return PASSING_STATUS.has(error.status) || PASSING_CODES.has(error.code);
	return connectionFault(error) !== undefined;
}

/** What the operator can do about an answer to a request that needs the right. */
export function adviceOf({ status, code }: Refusal, right: string): string {
	if (code === "RequestTimeTooSkewed") return "Set the clock of this machine right.";
	if (code === "SignatureDoesNotMatch") return "Correct files.bucket.accessKeyId and files.bucket.secretAccessKey.";
	if (code === "InvalidAccessKeyId") return "Correct files.bucket.accessKeyId.";
	if (code === "NoSuchBucket") return "Create the bucket, or correct files.bucket.name.";
	if (status === 301 || status === 307 || code === "AuthorizationHeaderMalformed")
		return "Correct files.bucket.region and files.bucket.url.";
	if (status === 401 || status === 403) return `Give the access key the right ${right}.`;
	if (status === 404) return "Create the bucket, or correct files.bucket.url and files.bucket.name.";
	if (FULL_CODES.has(code) || status === 507) return "Make room in the bucket, or raise its quota.";
	return "See the log of the bucket's server.";
}

/** The outage that a failed request is; other errors as they are. `name`: of the bucket, without secrets. */
export function unavailable(error: unknown, name: string, method: string): unknown {
	if (error instanceof Refusal) {
		const isFull = FULL_CODES.has(error.code) || error.status === 507;
		const why = isFull ? "full" : isPassing(error) ? "unreachable" : method === "GET" ? "unreadable" : "unwritable";
		return new StoreUnavailable(why, `The bucket ${name} answered ${method} with ${error.message}.`, { cause: error });
	}
	const code = connectionFault(error);
	if (code === undefined) return error;
	return new StoreUnavailable("unreachable", `The bucket ${name} does not answer: ${code}.`, { cause: error });
}
