/** Whichever version of its row a batch goes on from, it has each request (D57). */
import { expect, it } from "vitest";
import type { BatchStore } from "../../../../src/kernel/store/contract/batches.ts";
import type { Progress } from "../../../../src/modules/openai-async/progress.ts";
import { startService } from "../../../support/service.ts";
import { clientOf } from "../files/files-client.ts";
import { answering, completion, line, run } from "./batch-client.ts";

/** More than two parts. */
const LINES = 1200;

it("D57: in each version a request is in a part, is open, or is yet to be submitted", async (test) => {
	const service = await startService({ endpoints: { ep: {} } });
	test.onTestFinished(() => service.end());
	const batches = service.engine.kernel.store.batches as { replace: BatchStore["replace"] };
	const { replace } = batches;
	const wrong: object[] = [];
	let versions = 0;
	batches.replace = async (q) => {
		const { state, total, next, open, collected } = JSON.parse(q.progress) as Progress;
		versions += 1;
		const lines = new Set(open.map((each) => each.line));
		const sum = collected.completed + collected.failed + lines.size;
		const before = next ? next.line - 1 : total;
		const isWhole = lines.size === open.length && [...lines].every((each) => each <= before) && sum === before;
		if (state !== "validating" && !isWhole) wrong.push({ version: q.version, sum, before, open: open.length });
		return await replace(q);
	};
	for (const _ of [1, 2, 3]) await answering(service, "ep", completion);
	const batch = await run(
		service,
		clientOf(service, "ep"),
		Array.from({ length: LINES }, (_, n) => line(`id-${n}`)),
	);
	expect(batch.request_counts).toEqual({ total: LINES, completed: LINES, failed: 0 });
	expect(versions).toBeGreaterThan(4);
	expect(wrong).toEqual([]);
});
