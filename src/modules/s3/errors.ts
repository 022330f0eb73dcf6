/** Errors of the S3 face (D59). Clients read the code of S3, which each refusal names. */
import type { ErrorForm } from "../../kernel/api/definition/route.ts";
import { errorTable, type ModuleError } from "../../kernel/core/error-table.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { UnreadBody } from "../../kernel/http/exchange/body.ts";
import { element, XML_TYPE, xmlDocument } from "./xml.ts";

const PLAIN = { sentence: "{why}" } as const;

export const ERRORS = errorTable({
	s3_invalid: {
		...PLAIN,
		status: 400,
		advice: "The sentence says what is wrong with the request, its body or its checksum.",
	},
	s3_denied: {
		...PLAIN,
		status: 403,
		advice:
			"Sign the request with the credentials of the endpoint (AWS Signature Version 4), by a right clock; for " +
			"`QuotaExceeded` delete files of the endpoint, or raise the bound that the sentence names.",
	},
	s3_missing: { ...PLAIN, status: 404, advice: "List the buckets or objects of the endpoint." },
	s3_not_allowed: { ...PLAIN, status: 405, advice: "Use another method." },
	s3_conflict: { ...PLAIN, status: 409, advice: "Delete the objects of the bucket first." },
	s3_precondition: { ...PLAIN, status: 412, advice: "Read the object again, or send no condition." },
	s3_range: { ...PLAIN, status: 416, advice: "Ask for bytes below the size of the object." },
	s3_not_implemented: {
		...PLAIN,
		status: 501,
		isExpected: true,
		advice: "Leave out the part of the request that the sentence names.",
	},
});

/** Codes of S3 that refusals have, and the errors of Sluice by which they are counted. */
const REFUSALS = {
	AccessDenied: "s3_denied",
	InvalidAccessKeyId: "s3_denied",
	SignatureDoesNotMatch: "s3_denied",
	RequestTimeTooSkewed: "s3_denied",
	QuotaExceeded: "s3_denied",
	NoSuchBucket: "s3_missing",
	NoSuchKey: "s3_missing",
	NoSuchUpload: "s3_missing",
	NoSuchBucketPolicy: "s3_missing",
	NoSuchCORSConfiguration: "s3_missing",
	MethodNotAllowed: "s3_not_allowed",
	BucketNotEmpty: "s3_conflict",
	PreconditionFailed: "s3_precondition",
	InvalidRange: "s3_range",
	NotImplemented: "s3_not_implemented",
	AuthorizationHeaderMalformed: "s3_invalid",
	AuthorizationQueryParametersError: "s3_invalid",
	BadDigest: "s3_invalid",
	EntityTooLarge: "s3_invalid",
	IncompleteBody: "s3_invalid",
	InvalidArgument: "s3_invalid",
	InvalidBucketName: "s3_invalid",
	InvalidDigest: "s3_invalid",
	InvalidPart: "s3_invalid",
	InvalidPartOrder: "s3_invalid",
	InvalidRequest: "s3_invalid",
	InvalidURI: "s3_invalid",
	KeyTooLongError: "s3_invalid",
	MalformedXML: "s3_invalid",
	TooManyBuckets: "s3_invalid",
	XAmzContentSHA256Mismatch: "s3_invalid",
} as const satisfies Readonly<Record<string, keyof typeof ERRORS>>;

export type S3Code = keyof typeof REFUSALS;

/** A refusal with a code of S3. */
export class S3Error extends ApiError {
	readonly s3Code: S3Code;
	constructor(s3Code: S3Code, why: string) {
		super(errorOf(s3Code), { why });
		this.s3Code = s3Code;
	}
}

/** Closes the connection after the answer, since the rest of the body is not read. */
class UnreadS3Error extends UnreadBody {
	readonly s3Code: S3Code;
	constructor({ s3Code, message }: S3Error) {
		super(errorOf(s3Code), { why: message });
		this.s3Code = s3Code;
	}
}

const errorOf = (code: S3Code): ModuleError => ERRORS[REFUSALS[code]];

/** Errors of files that clients of S3 know by another status. */
const OF_FILES: Readonly<Record<string, S3Code>> = {
	file_too_large: "EntityTooLarge",
	endpoint_files_full: "QuotaExceeded",
	files_full: "QuotaExceeded",
};

/** The error to answer with. `isRead`: all of the body has arrived. */
export function refusalOf(error: unknown, isRead: boolean): unknown {
	if (!(error instanceof ApiError)) return error;
	const code = OF_FILES[error.code];
	const known = code === undefined ? error : new S3Error(code, error.message);
	return known instanceof S3Error && !isRead ? new UnreadS3Error(known) : known;
}

/** Codes for refusals of the kernel. */
const BY_STATUS: Readonly<Record<number, string>> = {
	404: "NoSuchKey",
	405: "MethodNotAllowed",
	408: "RequestTimeout",
	413: "EntityTooLarge",
	429: "SlowDown",
	503: "SlowDown",
};

function s3CodeOf(error: ApiError): string {
	if (error instanceof S3Error || error instanceof UnreadS3Error) return error.s3Code;
	return BY_STATUS[error.status] ?? (error.status < 500 ? "InvalidRequest" : "InternalError");
}

export const S3_ERRORS: ErrorForm = {
	name: "s3",
	paths: /^\/s3(?:\/|$)/,
	media: XML_TYPE,
	body: (error) =>
		xmlDocument(element("Error", element("Code", s3CodeOf(error)) + element("Message", error.message, "text"))),
};
