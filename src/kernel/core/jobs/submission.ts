/** The body of `/run` and `/runsync` (spec 2.3 to 2.5, D4, D15). */
import { DEFAULT_TTL_MS, ENDPOINT_DEFAULTS } from "../endpoints/endpoint.ts";
import { shownName } from "../../lib/json/json-name.ts";
import type { JsonKind } from "../../lib/json/json-scan.ts";
import { check, type Fault, isAbsent, isObject, type Read, type Schema, sentence } from "../../lib/schema.ts";

/** Bounds of nesting and digits: more would break Python's parser in a worker (D4). */
const BOUNDS = { maxDepth: 500, maxDigits: 4000 } as const;

/** JSON bytes of each of `webhook`, `policy` and `s3Config`, which are kept in memory. */
export const SETTING_LIMIT = 65_536;

/** Schema of a submission; other members are ignored, nested ones too (D4). */
export const SUBMISSION_SCHEMA = {
	type: "object",
	required: ["input"],
	properties: {
		input: {
			type: "object",
			description:
				`Parameters for the worker, passed to it unchanged. Nested at most ${BOUNDS.maxDepth} ` +
				`deep, integers of at most ${BOUNDS.maxDigits} digits.`,
			examples: [{ prompt: "hello" }],
			"x-message": 'must be an object, such as {"input": {"prompt": "hello"}}.',
		},
		webhook: {
			type: "string",
			format: "uri",
			maxLength: 8192,
			description: "URL that gets a POST of the job when it has reached a final state.",
			examples: ["https://app.example.com/jobs"],
			"x-message":
				"must be an absolute http or https URL of at most 8192 characters, none of them a control " +
				"character; leave it out for no webhook.",
		},
		policy: {
			type: "object",
			properties: {
				executionTimeout: {
					type: "integer",
					exclusiveMinimum: 5000,
					maximum: Number.MAX_SAFE_INTEGER,
					"x-unit": "ms",
					default: ENDPOINT_DEFAULTS.executionTimeoutMs,
					description:
						"Execution timeout, from the moment a worker took the job. Default: the endpoint's executionTimeoutMs.",
				},
				ttl: {
					type: "integer",
					minimum: 10_000,
					maximum: 604_800_000,
					"x-unit": "ms",
					default: DEFAULT_TTL_MS,
					description: "Longest wait in the queue.",
				},
				lowPriority: {
					type: "boolean",
					default: false,
					description: "Started after the other jobs; does not cause a worker to start.",
				},
			},
			description: `Execution policy of this job; at most ${SETTING_LIMIT} bytes of JSON.`,
		},
		s3Config: {
			type: "object",
			properties: {
				accessId: { type: "string", description: "Access key id of the S3-compatible storage." },
				accessSecret: { type: "string", writeOnly: true, description: "Secret access key of the storage." },
				bucketName: { type: "string", description: "Bucket name." },
				endpointUrl: { type: "string", description: "URL of the storage; any S3-compatible provider works." },
			},
			writeOnly: true,
			description:
				`Storage for the worker, at most ${SETTING_LIMIT} bytes of JSON. Handed to the worker and ` +
				"shown nowhere else; the worker does the storing.",
			"x-message": "must be an object with accessId, accessSecret, bucketName and endpointUrl.",
		},
	},
} as const satisfies Schema;

export const SUBMISSION_JSON = { members: Object.keys(SUBMISSION_SCHEMA.properties), ...BOUNDS } as const;

const MAX_IGNORED = 8;

/** Names of members that have no effect, such as `policy.lowPrio`: the first 8, in printable ASCII. */
export function ignoredMembers(others: readonly string[], policy: unknown): string[] {
	const known = SUBMISSION_SCHEMA.properties.policy.properties;
	const names = isObject(policy) ? Object.keys(policy).filter((name) => !Object.hasOwn(known, name)) : [];
	const inPolicy = names.slice(0, MAX_IGNORED).map((name) => `policy.${shownName(name)}`.slice(0, 40));
	return [...others, ...inPolicy].slice(0, MAX_IGNORED);
}

/** `input` is its kind; the others are parsed. */
export interface SubmissionParts {
	input: JsonKind | undefined;
	webhook?: unknown;
	policy?: unknown;
	s3Config?: unknown;
}

/** Absent members take the endpoint's defaults. */
export interface SubmissionOptions {
	webhook?: string;
	lowPriority: boolean;
	ttlMs?: number;
	executionTimeoutMs?: number;
	s3Config: boolean;
}

type Policy = Partial<Record<"executionTimeout" | "ttl", number | null>> & {
	lowPriority?: boolean | null;
};

const OPTIONAL = ["webhook", "policy", "s3Config"] as const;

/** Reads a submission. Returns all faults with field and bound. */
export function readSubmission(parts: SubmissionParts): Read<{ options: SubmissionOptions }> {
	const { input, webhook, policy, s3Config } = parts;
	// Fast path: most submissions have only an input.
	if (input === "object" && webhook === undefined && policy === undefined && s3Config === undefined)
		return { ok: true, options: { lowPriority: false, s3Config: false } };

	const faults: Fault[] = [];
	if (input !== "object") faults.push({ field: "input", message: inputFault(input) });
	for (const name of OPTIONAL) {
		const value = parts[name];
		if (!isAbsent(value)) faults.push(...check(SUBMISSION_SCHEMA.properties[name], value, name));
	}
	if (faults.length > 0) return { ok: false, faults };

	const options: SubmissionOptions = { lowPriority: false, s3Config: !isAbsent(s3Config) };
	if (!isAbsent(webhook)) options.webhook = webhook as string;
	if (!isAbsent(policy)) {
		const { executionTimeout, ttl, lowPriority } = policy as Policy;
		if (!isAbsent(executionTimeout)) options.executionTimeoutMs = executionTimeout;
		if (!isAbsent(ttl)) options.ttlMs = ttl;
		if (lowPriority === true) options.lowPriority = true;
	}
	return { ok: true, options };
}

/** `input` is not parsed: its kind comes from the scan (D5). */
function inputFault(kind: JsonKind | undefined): string {
	if (kind === undefined) return `is missing; it ${sentence(SUBMISSION_SCHEMA.properties.input)}`;
	return `must be an object, not ${article(kind)}.`;
}

function article(kind: JsonKind): string {
	if (kind === "array" || kind === "object") return `an ${kind}`;
	return kind === "string" || kind === "number" ? `a ${kind}` : kind;
}
