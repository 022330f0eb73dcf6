/** Creates a background response (D58): a job that is answered at once, and goes on when its client leaves. */
import { DEFAULT_TTL_MS, type Endpoint, retentionOf } from "../../../kernel/core/endpoints/endpoint.ts";
import { ApiError, badRequest } from "../../../kernel/core/errors.ts";
import type { Fault } from "../../../kernel/lib/schema.ts";
import { readSubmission, SETTING_LIMIT } from "../../../kernel/core/jobs/submission.ts";
import { traceText } from "../../../kernel/core/trace.ts";
import { asOne, type JsonText, LARGE_BYTES, piecesOf, sizeOf, stringOf } from "../../../kernel/lib/json/json-text.ts";
import type { ScannedBody } from "../../../kernel/http/exchange/body.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { answer } from "../../../kernel/http/exchange/answer.ts";
import { hashOf, idempotencyKey } from "../../../kernel/http/exchange/idempotency.ts";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import { onStored } from "../../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { sendEvents } from "./follow.ts";
import { changesOf, edited, type Members, membersOf, partOf, removal } from "./members.ts";
import { ownObject, REPEATED, repeatedIn, shownOf } from "./response.ts";
import { MARK } from "./stored.ts";

/** How long a result is kept without `store: true`, ms: enough to poll for it, as at OpenAI. */
const UNSTORED_MS = 600_000;

/**
 * How long the record of a response with a webhook is kept at least, ms: longer than its delivery, which is kept for 7
 * days and repeated for up to 12. The record says that its body is OpenAI's.
 */
const DELIVERY_MS = 20 * 86_400_000;

const REFUSED = {
	previous_response_id: "cannot be used with background; send the earlier items in input.",
	conversation: "cannot be used with background; send the earlier items in input.",
	background_options: "is unknown to this service.",
} as const;

const NAMES = [
	...REPEATED,
	"background",
	"store",
	"stream",
	"webhook",
	...(Object.keys(REFUSED) as (keyof typeof REFUSED)[]),
];

/** `body`: a JSON object with `background: true`. */
export async function createBackground(kernel: Kernel, call: Call<"endpoint">, body: ScannedBody): Promise<void> {
	const { engine, params } = call;
	const key = idempotencyKey(call);
	const members = (await inSlices(membersOf(body.blocks, NAMES)))!;
	checkMembers(members);
	const webhook = webhookIn(call, body, members);
	const flags = { store: members.store?.kind === "true", stream: members.stream?.kind === "true" };
	const endpoint = engine.endpoints.get(params.endpoint);
	if (engine.draining) throw new ApiError("not_ready", { why: "is shutting down" });
	const id = engine.jobs.newId("openai");
	// The blocks of the body are the store's after the submission.
	const repeated = repeatedIn(body.blocks, members);
	const job = await engine.jobs.submit({
		id,
		endpoint,
		operation: "openai",
		options: { lowPriority: false, s3Config: false, ttlMs: DEFAULT_TTL_MS, ...(webhook !== undefined && { webhook }) },
		input: inputOf(body, members, flags),
		kept: retentionFor(endpoint, { store: flags.store, webhook }),
		trace: call.trace && traceText(call.trace.context),
		requestId: call.res.sentRequestId,
		stored: onStored(call),
		idempotency: key === undefined ? undefined : { key, bodyHash: hashOf(body.blocks) },
	});
	call.res.setHeader("x-request-id", job);
	const shown = shownOf(kernel, job, { ...flags, repeated });
	if (flags.stream) await sendEvents(kernel, call, { job: { endpoint: endpoint.id, id: job }, shown, after: -1 });
	else await answer(call, ownObject(shown, "queued"));
}

function checkMembers(members: Members<(typeof NAMES)[number]>): void {
	const isGiven = (name: (typeof NAMES)[number]): boolean =>
		members[name] !== undefined && members[name].kind !== "null";
	const faults: Fault[] = Object.entries(REFUSED)
		.filter(([name]) => isGiven(name as keyof typeof REFUSED))
		.map(([field, message]) => ({ field, message }));
	for (const field of ["store", "stream"] as const)
		if (isGiven(field) && members[field]!.kind !== "true" && members[field]!.kind !== "false")
			faults.push({ field, message: "must be true or false." });
	if (faults.length > 0) throw badRequest(faults);
}

/** Throws 400 for an address that can never be called. */
function webhookIn({ engine }: Call, body: ScannedBody, { webhook }: Members<"webhook">): string | undefined {
	if (!webhook) return undefined;
	if (webhook.end - webhook.start > SETTING_LIMIT)
		throw badRequest([{ field: "webhook", message: `must be at most ${SETTING_LIMIT} bytes of JSON.` }]);
	const read = readSubmission({ input: "object", webhook: JSON.parse(partOf(body.blocks, webhook)) as unknown });
	if (!read.ok) throw badRequest(read.faults);
	const url = read.options.webhook;
	const { webhookFault = () => "this service sends no webhooks" } = engine.hooks;
	const why = url === undefined ? undefined : webhookFault(url);
	if (why !== undefined) throw badRequest([{ field: "webhook", message: `can never be sent: ${why}.` }]);
	return url;
}

/** How long result and record are kept. A shorter retention of the endpoint holds also without `store`. */
function retentionFor(
	endpoint: Endpoint,
	{ store, webhook }: { store: boolean; webhook: string | undefined },
): { retainMs: number; recordMs: number } {
	const most = retentionOf(endpoint, "run");
	const { records } = endpoint.retention;
	// The receiver of a webhook reads the result.
	if (webhook !== undefined) return { retainMs: most, recordMs: Math.max(records, DELIVERY_MS) };
	return { retainMs: store ? most : Math.min(most, UNSTORED_MS), recordMs: records };
}

/** The request as the client sent it, but that the worker neither runs it in the background nor stores it. */
function inputOf(
	{ blocks }: ScannedBody,
	{ background, store, webhook }: Members<"background" | "store" | "webhook">,
	flags: { store: boolean; stream: boolean },
): JsonText {
	const changes = changesOf(blocks, { background, store }, { background: "false", store: "false" });
	const request = edited(blocks, webhook ? [...changes, removal(blocks, webhook)] : changes);
	const head = `{"openai_route":"/v1/responses","${MARK}":${JSON.stringify(flags)},"openai_input":`;
	const input = asOne(piecesOf(head, request, "}"));
	return sizeOf(input) < LARGE_BYTES ? stringOf(input) : input;
}
