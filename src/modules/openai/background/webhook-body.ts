/** The webhook of a background response (D58): OpenAI's event of its end. */
import type { JobState } from "../../../kernel/core/jobs/job-states.ts";
import { cut, type JsonText } from "../../../kernel/lib/json/json-text.ts";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { DueDelivery } from "../../../kernel/store/contract/webhooks.ts";
import { READ_BYTES } from "../reply.ts";
import { endingOf, endingOfResult, type Reading } from "./ending.ts";
import { blocksOf, membersOf, partOf } from "./members.ts";
import { type FinalStatus, responseId } from "./response.ts";
import { isStreamed } from "./stored.ts";

/** One attempt is made at a time for an endpoint and receiver, so that nothing waits for memory. */
const READING: Reading = {
	caller: { disconnected: false },
	admit: () => Promise.resolve(),
	bounded: () => (read) => read(READ_BYTES),
};

/** The same for each attempt. Undefined if what it says was erased. Rejects as the store does. */
export async function webhookBody(kernel: Kernel, delivery: DueDelivery): Promise<JsonText | undefined> {
	const { id, job, createdAt } = delivery;
	const stored = delivery.body ?? (await kernel.store.webhooks.body({ id }));
	if (stored === undefined) return undefined;
	const status = await statusOf(kernel, delivery, stored);
	if (status === undefined) return undefined;
	return JSON.stringify({
		// The same for each attempt.
		id: `evt_${id.replace(/^msg_/, "")}`,
		object: "event",
		type: `response.${status}`,
		created_at: Math.floor((kernel.calendar.of(createdAt) as number) / 1000),
		data: { id: responseId(job) },
	});
}

/** `stored`: the job object, whose state is that of this end: the job may have been retried since. */
async function statusOf(
	kernel: Kernel,
	{ endpoint, job: id }: DueDelivery,
	stored: JsonText,
): Promise<FinalStatus | undefined> {
	const blocks = blocksOf(stored);
	const { status, output } = (await inSlices(membersOf(blocks, ["status", "output"] as const))) ?? {};
	const state = JSON.parse(partOf(blocks, status!)) as JobState;
	if (state !== "COMPLETED") return state === "CANCELLED" ? "cancelled" : "failed";
	const found = await kernel.store.jobs.record({ endpoint, id, now: kernel.now(), large: "size" });
	if (!found) return undefined;
	const shown = { id: responseId(id), createdAt: 0, store: false, stream: isStreamed(found), repeated: "" };
	if (!found.job.erased) return (await endingOf(kernel, found, shown, READING)).status;
	// The job object has the result, but no events.
	if (found.chunks.written > 0) return undefined;
	const result = output && cut(blocks, output.start, output.end);
	return (await endingOfResult(kernel, { ...found, output: result }, shown, READING)).status;
}
