/** Bodies of `/run` and `/runsync` (spec 2.3, D4); `Idempotency-Key` (D14). */
import { createHash } from "node:crypto";
import { badRequest } from "../../core/errors.ts";
import type { Operation } from "../../core/job.ts";
import type { JsonMember } from "../../core/json/json-scan.ts";
import type { JsonBlocks } from "../../core/json/json-text.ts";
import { SETTING_LIMIT, SUBMISSION_JSON, readSubmission } from "../../core/submission.ts";
import type { SubmitRequest } from "../../engine/jobs/submit.ts";
import { notAnObject, readJson } from "../body.ts";
import type { Call } from "../call.ts";
import { hold } from "../memory/call-memory.ts";

/** Characters. */
const MAX_KEY_LENGTH = 255;

/** Members besides `input`; bounded in size. */
const SETTINGS = ["webhook", "policy", "s3Config"] as const;

const bytesOf = (member: JsonMember | undefined): number => (member ? member.end - member.start : 0);

/** The checked submission; throws 400 and 413. */
export async function readSubmitted(call: Call, operation: Operation): Promise<SubmitRequest> {
	const key = idempotencyKey(call);
	const { scan, text, payload, blocks } = await readJson(call, SUBMISSION_JSON);
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	const { members } = scan;
	const { input, webhook, policy, s3Config } = members;
	if (webhook || policy || s3Config) checkSizes(members);
	const value = (member: typeof webhook): unknown => (member ? JSON.parse(text(member)!) : undefined);
	const read = readSubmission({
		input: input?.kind,
		webhook: value(webhook),
		policy: value(policy),
		s3Config: value(s3Config),
	});
	if (!read.ok) throw badRequest(read.faults);
	return {
		id: call.engine.jobs.newId(operation),
		endpoint: call.engine.endpoints.get(call.params.endpoint),
		operation,
		options: read.options,
		input: payload(input)!,
		s3Config: read.options.s3Config ? text(s3Config) : undefined,
		stored: releaseBody(call),
		...(key === undefined ? {} : { idempotency: { key, bodyHash: hashOf(blocks) } }),
	};
}

/** A function of its own, so that it does not keep the body. */
function releaseBody(call: Call): () => void {
	return () => void hold(call, 0);
}

/** Throws 400 for settings over `SETTING_LIMIT`. */
function checkSizes(members: Readonly<Record<string, JsonMember | undefined>>): void {
	const [tooLarge, ...others] = SETTINGS.filter((field) => bytesOf(members[field]) > SETTING_LIMIT).map((field) => ({
		field,
		message: `must be at most ${SETTING_LIMIT} bytes of JSON.`,
	}));
	if (tooLarge) throw badRequest([tooLarge, ...others]);
}

function hashOf(blocks: JsonBlocks): string {
	const hash = createHash("sha256");
	for (const block of blocks) hash.update(block);
	return hash.digest("hex");
}

function idempotencyKey({ req }: Call): string | undefined {
	const key = req.headers["idempotency-key"];
	if (key === undefined) return undefined;
	if (typeof key === "string" && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) && key.length <= MAX_KEY_LENGTH)
		return key;
	throw badRequest([
		{
			field: "Idempotency-Key",
			message: `must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
		},
	]);
}
