import { expect, it } from "vitest";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { openBatch, type RunContext } from "./batch.ts";
import { NO_COUNTS, type Progress } from "./progress.ts";
import { work } from "./work.ts";

it("D57: counts do not go down while the results of before a start are read", async () => {
	const clock = manualClock();
	const saved: Progress[] = [];
	const unread = ({ caller }: { caller: { onDisconnect?: () => void } }) =>
		new Promise((resolve) => (caller.onDisconnect = () => resolve({ job: { id: "j", state: "IN_PROGRESS" } })));
	const kernel = {
		...{ clock, now: () => clock.now(), jobs: { statusSync: unread } },
		endpoints: { get: () => ({ limits: "off" }) },
		workers: { registry: { of: () => [] } },
		store: {
			batches: {
				replace({ progress }: { progress: string }) {
					saved.push(JSON.parse(progress) as Progress);
					return Promise.resolve("replaced");
				},
			},
		},
	};
	const shown = { ...NO_COUNTS, completed: 2, output: 7 };
	const open = [1, 2, 3].map((line) => ({ line, byte: 0, job: `j${line}`, customId: `${line}` }));
	const progress = { state: "in_progress", total: 3, open, shown, collected: NO_COUNTS, at: {} };
	// Something has changed, so that a version is written.
	const before = { ...progress, waits: "no room", expiresAt: 1e15 };
	const d = { kernel, files: {}, shared: { unstoredBytes: 0 }, ended() {}, collected() {} } as unknown as RunContext;
	const row = { id: "batch_1", endpoint: "ep", version: 1, progress: JSON.stringify(before) };
	const stop = new AbortController();
	const run = work(d, openBatch(d, row as BatchRow), {
		signal: stop.signal,
		cancelledAt: () => undefined,
		beside: () => 1,
		onCancel: () => () => {},
	});
	await clock.advance(4000);
	expect(saved.at(-1)).toMatchObject({ shown, open });
	stop.abort();
	await expect(run).rejects.toThrow();
});
