/** How far a batch is, as the command line says it (D36, D57). */
import { expect, it } from "vitest";
import type { BatchObject } from "../routes.ts";
import { batchText } from "./get.ts";
import { isFlawless, outcomeText } from "./outcome.ts";
import { paceMeter, progressOf, shortCount } from "./progress.ts";

const CREATED = 1_800_000_000;

const batch = (members: Partial<BatchObject> = {}): BatchObject => ({
	id: "batch_1",
	object: "batch",
	endpoint: "/v1/chat/completions",
	errors: null as never,
	input_file_id: "file-in",
	completion_window: "24h",
	status: "in_progress",
	output_file_id: null,
	error_file_id: null,
	created_at: CREATED,
	in_progress_at: CREATED,
	expires_at: CREATED + 86_400,
	finalizing_at: null,
	completed_at: null,
	failed_at: null,
	expired_at: null,
	cancelling_at: null,
	cancelled_at: null,
	request_counts: { total: 1000, completed: 800, failed: 12 },
	usage: {
		input_tokens: 1_234_567,
		input_tokens_details: { cached_tokens: 0 },
		output_tokens: 300_000,
		output_tokens_details: { reasoning_tokens: 0 },
		total_tokens: 1_534_567,
	},
	metadata: null as never,
	...members,
});
const NONE = { total: 0, completed: 0, failed: 0 };
const UNUSED = { ...batch().usage, input_tokens: 0, output_tokens: 0, total_tokens: 0 };
const ERROR = { code: "invalid_json_line", line: 3, message: "It is not JSON", param: null };

it("D36: the bar has counts, failures, tokens and the time since the batch was made", () => {
	const wall = (CREATED + 845) * 1000;
	expect(progressOf(batch(), undefined, wall)).toMatchObject({
		share: 0.812,
		text: "812/1000 done, 12 failed, tokens 1.2M in, 300K out, after 14 min 5 s",
	});
	expect(progressOf(batch({ status: "finalizing" }), undefined, wall).text).toMatch(/^finalizing, 812\/1000 done, /);
	expect(
		progressOf(batch({ status: "validating", request_counts: NONE, usage: UNUSED }), undefined, wall),
	).toMatchObject({
		share: undefined,
		text: "validating, after 14 min 5 s",
	});
});

it.each([
	[0, "0"],
	[999, "999"],
	[12_345, "12.3K"],
	[1_200_000, "1.2M"],
	[3_400_000_000, "3.4B"],
])("D36: %d tokens are shown as %s", (count, text) => {
	expect(shortCount(count)).toBe(text);
});

it("D36: the time left is estimated by what was done in the last 10 minutes, not by what was done before", () => {
	const paceAt = paceMeter();
	const after = (ms: number, completed: number, total = 1000) =>
		paceAt(ms, batch({ request_counts: { total, completed, failed: 0 } }));
	expect(after(0, 500)).toBeUndefined();
	expect(after(1000, 501)).toBeUndefined();
	expect(after(10_000, 520)).toEqual({ perSecond: 2, leftMs: 240_000 });
	// The GPU was given to others for an hour.
	expect(after(3_600_000, 520)).toBeUndefined();
	expect(after(3_610_000, 520)).toEqual({ perSecond: 0, leftMs: undefined });
	expect(after(3_620_000, 620)).toEqual({ perSecond: 5, leftMs: 76_000 });
	expect(after(3_630_000, 1000)).toEqual({ perSecond: 16, leftMs: undefined });
	expect(after(3_640_000, 0, 0)).toBeUndefined();
});

it("D36: the end is said with counts, tokens and where the results are", () => {
	const ended = batch({
		status: "completed",
		completed_at: CREATED + 7200,
		output_file_id: "file-o",
		error_file_id: "file-e",
	});
	expect(outcomeText(ended, { endpoint: "ep", isWritten: false })).toBe(
		"Batch batch_1 is completed: 812/1000 requests done, 12 failed, after 2 h 0 min.\n" +
			"Tokens: 1.2M in, 300K out.\n" +
			"Results: sluice batches results ep batch_1 --output FILE\n" +
			"Errors: sluice batches results ep batch_1 --errors\n",
	);
	expect(outcomeText(ended, { endpoint: "ep", isWritten: true })).not.toContain("Results:");
});

it("D36: of a batch that failed the first five errors are named, without what steers a terminal", () => {
	const data = Array.from({ length: 7 }, () => ({ ...ERROR, message: "\u001b[2JIt is not JSON" }));
	const errors = { object: "list" as const, data: [{ ...ERROR, line: null, message: "It is empty." }, ...data] };
	const failed = batch({ status: "failed", failed_at: CREATED + 2, errors, request_counts: NONE, usage: UNUSED });
	const lines = outcomeText(failed, { endpoint: "ep", isWritten: false }).split("\n");
	expect(lines).toEqual([
		"Batch batch_1 is failed, after 2 s.",
		"- It is empty. (invalid_json_line)",
		...Array.from({ length: 4 }, () => "- Line 3: ?[2JIt is not JSON. (invalid_json_line)"),
		"- and 3 more errors; -o json of 'batches get' has all",
		"",
	]);
	expect(batchText(failed)).toContain("\nEnded    2027-01-15 08:00:02Z\n");
	expect(batchText(failed)).toContain("\n- It is empty. (invalid_json_line)\n");
});

it("D36: only an end without a failed request is a success", () => {
	const counts = { total: 2, completed: 2, failed: 0 };
	expect(isFlawless(batch({ status: "completed", request_counts: counts }))).toBe(true);
	expect(isFlawless(batch({ status: "completed", request_counts: { ...counts, failed: 1 } }))).toBe(false);
	for (const status of ["failed", "expired", "cancelled"] as const)
		expect(isFlawless(batch({ status, request_counts: counts }))).toBe(false);
});
