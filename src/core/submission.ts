/** What may be submitted (spec 2.3 to 2.5, D4, D15): the members of a submission body, their bounds, and every fault named. */
import type { Fault } from "./errors.ts";
import type { JsonKind } from "./json-scan.ts";

/** Top-level members of a submission that mean something; all others are ignored (D4). */
export const SUBMISSION_MEMBERS = ["input", "webhook", "policy", "s3Config"] as const;

/** Deepest nesting and longest integer a submission may hold: more would break Python's parser in a worker (D4). */
export const SUBMISSION_JSON = { members: SUBMISSION_MEMBERS, maxDepth: 500, maxDigits: 4000 } as const;

/** Bounds of `policy` (spec 2.4, D15), ms; `executionTimeout` must exceed its first. */
export const POLICY_BOUNDS = { executionTimeout: [5001, Number.MAX_SAFE_INTEGER], ttl: [10_000, 604_800_000] } as const;

const WEBHOOK_LONGEST = 8192;
const S3_MEMBERS = ["accessId", "accessSecret", "bucketName", "endpointUrl"] as const;

/** The members as found: the kind of `input`, the parsed values of the others (undefined: not there). */
export interface SubmissionParts {
  input: JsonKind | undefined;
  webhook?: unknown;
  policy?: unknown;
  /** Parsed value; the text itself is what is kept. */
  s3Config?: unknown;
}

/** A submission as wished; absent members take the endpoint's defaults. */
export interface Wish {
  webhook?: string;
  lowPriority: boolean;
  ttlMs?: number;
  executionTimeoutMs?: number;
  /** Whether there is an `s3Config` to keep. */
  s3Config: boolean;
}

/** Checks the members of a submission; lists every fault with its field and bound. */
export function readSubmission(parts: SubmissionParts): { ok: true; wish: Wish } | { ok: false; faults: [Fault, ...Fault[]] } {
  const faults: Fault[] = [];
  const wish: Wish = { lowPriority: false, s3Config: false };

  if (parts.input === undefined) faults.push({ field: "input", message: "is missing; it must be an object, such as {\"input\": {\"prompt\": \"hello\"}}." });
  else if (parts.input !== "object") faults.push({ field: "input", message: `must be an object, not ${article(parts.input)}.` });

  const { webhook, policy, s3Config } = parts;
  if (webhook !== undefined && webhook !== null) {
    if (typeof webhook !== "string" || webhook === "") faults.push({ field: "webhook", message: "must be a URL as text; leave it out for no webhook." });
    else if (webhook.length > WEBHOOK_LONGEST) faults.push({ field: "webhook", message: `must have at most ${WEBHOOK_LONGEST} characters.` });
    else if (!isWebUrl(webhook)) faults.push({ field: "webhook", message: "must be an absolute http or https URL." });
    else wish.webhook = webhook;
  }
  if (policy !== undefined && policy !== null) {
    if (!isObject(policy)) faults.push({ field: "policy", message: "must be an object." });
    else readPolicy(policy, wish, faults);
  }
  if (s3Config !== undefined && s3Config !== null) {
    if (!isObject(s3Config)) faults.push({ field: "s3Config", message: `must be an object with ${S3_MEMBERS.join(", ")}.` });
    else {
      for (const name of S3_MEMBERS) {
        const value = s3Config[name];
        if (value !== undefined && value !== null && typeof value !== "string") faults.push({ field: `s3Config.${name}`, message: "must be text." });
      }
      wish.s3Config = true;
    }
  }
  const [first, ...rest] = faults;
  return first ? { ok: false, faults: [first, ...rest] } : { ok: true, wish };
}

function readPolicy(policy: Record<string, unknown>, wish: Wish, faults: Fault[]): void {
  const number = (name: keyof typeof POLICY_BOUNDS, bound: string): number | undefined => {
    const value = policy[name];
    if (value === undefined || value === null) return undefined;
    const [low, high] = POLICY_BOUNDS[name];
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= low && value <= high) return value;
    faults.push({ field: `policy.${name}`, message: `must be a whole number of ms ${bound}.` });
    return undefined;
  };
  const execution = number("executionTimeout", "above 5000");
  const ttl = number("ttl", `from ${POLICY_BOUNDS.ttl[0]} to ${POLICY_BOUNDS.ttl[1]}`);
  if (execution !== undefined) wish.executionTimeoutMs = execution;
  if (ttl !== undefined) wish.ttlMs = ttl;
  const low = policy["lowPriority"];
  if (low === true) wish.lowPriority = true;
  else if (low !== undefined && low !== null && low !== false) faults.push({ field: "policy.lowPriority", message: "must be true or false." });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWebUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "";
}

function article(kind: JsonKind): string {
  if (kind === "array" || kind === "object") return `an ${kind}`;
  return kind === "string" || kind === "number" ? `a ${kind}` : kind;
}
