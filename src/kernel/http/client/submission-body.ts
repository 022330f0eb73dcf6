/** Bodies of `/run` and `/runsync` (spec 2.3, D4). */
import { badRequest } from "../../core/errors.ts";
import type { Operation } from "../../core/jobs/job.ts";
import type { JsonMember } from "../../lib/json/json-scan.ts";
import { traceText } from "../../core/trace.ts";
import { ignoredMembers, SETTING_LIMIT, SUBMISSION_JSON, readSubmission } from "../../core/jobs/submission.ts";
import type { SubmitRequest } from "../../engine/jobs/submit.ts";
import { notAnObject, readJson } from "../exchange/body.ts";
import type { Call } from "../exchange/call.ts";
import { hashOf, idempotencyKey } from "../exchange/idempotency.ts";
import { onStored } from "../memory/call-memory.ts";

const SETTINGS = ["webhook", "policy", "s3Config"] as const;

const NONE: readonly string[] = [];
const SCANNED = { ...SUBMISSION_JSON, others: true };

const bytesOf = (member: JsonMember | undefined): number => (member ? member.end - member.start : 0);

/** Throws 400 and 413. */
export async function readSubmitted(call: Call<"endpoint">, operation: Operation): Promise<SubmitRequest> {
	const key = idempotencyKey(call);
	const body = await readJson(call, SCANNED);
	const { scan } = body;
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	const { members } = scan;
	const { input, webhook, policy, s3Config } = members;
	if (webhook || policy || s3Config) checkSizes(members);
	const value = (member: typeof webhook): unknown => (member ? JSON.parse(body.text(member)) : undefined);
	const parsedPolicy = value(policy);
	const read = readSubmission({
		input: input?.kind,
		webhook: value(webhook),
		policy: parsedPolicy,
		s3Config: value(s3Config),
	});
	const ignored = scan.others!.length > 0 || policy ? ignoredMembers(scan.others!, parsedPolicy) : NONE;
	if (ignored.length > 0) call.res.setHeader("Sluice-Ignored", ignored.join(", "));
	if (!read.ok) throw badRequest(read.faults);
	if (read.options.webhook !== undefined) checkWebhook(call, read.options.webhook);
	return {
		id: call.engine.jobs.newId(operation),
		endpoint: call.engine.endpoints.get(call.params.endpoint),
		operation,
		options: read.options,
		ignored,
		input: body.payload(input!),
		s3Config: read.options.s3Config ? body.text(s3Config!) : undefined,
		trace: call.trace && traceText(call.trace.context),
		requestId: call.res.sentRequestId,
		stored: onStored(call),
		idempotency: key === undefined ? undefined : { key, bodyHash: hashOf(body.blocks) },
	};
}

function checkWebhook({ engine }: Call<"endpoint">, url: string): void {
	const { webhookFault = () => "this service sends no webhooks" } = engine.hooks;
	const why = webhookFault(url);
	if (why !== undefined) throw badRequest([{ field: "webhook", message: `can never be sent: ${why}.` }]);
}

/** Throws 400 for settings over `SETTING_LIMIT`. */
function checkSizes(members: Readonly<Record<string, JsonMember | undefined>>): void {
	const tooLarge = SETTINGS.filter((field) => bytesOf(members[field]) > SETTING_LIMIT);
	const message = `must be at most ${SETTING_LIMIT} bytes of JSON.`;
	if (tooLarge.length > 0) throw badRequest(tooLarge.map((field) => ({ field, message })));
}
