/** A text in a file stays while a row may refer to it: also when the commit of that row is uncertain. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../../../../test/support/until.ts";
import { LARGE_BYTES } from "../../../lib/json/json-text.ts";
import { type Store, StoreUnavailable } from "../../contract/store.ts";
import { openPayloadFiles } from "./payload-files.ts";
import { withPayloadFiles } from "./store-with-files.ts";

it.each([
	{ unsure: true, kept: ["1", "2"] },
	{ unsure: false, kept: ["2"] },
])("D17: an insert fails, unsure whether it is committed: $unsure", async ({ unsure, kept }) => {
	const folder = mkdtempSync(join(tmpdir(), "sluice-with-files-"));
	const files = await openPayloadFiles({ folder, referenced: [], segmentBytes: LARGE_BYTES });
	onTestFinished(async () => {
		await files.close();
		rmSync(folder, { recursive: true });
	});
	const failures: (() => void)[] = [];
	const failure = new StoreUnavailable("closed", "The database thread failed.", { unsure });
	const insert = () => new Promise((_, reject) => failures.push(() => reject(failure)));
	const store = withPayloadFiles({ jobs: { insert } } as unknown as Store, files);
	const inserts: Promise<unknown>[] = [];
	for (const count of [1, 2]) {
		inserts.push(store.jobs.insert({ input: [Buffer.alloc(LARGE_BYTES)] } as never));
		await until("the text to be written", () => failures.length === count);
	}
	failures[0]!();
	await expect(inserts[0]).rejects.toBe(failure);
	for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
	const hold = files.hold();
	expect(hold.files().map(({ name }) => name)).toEqual(kept);
	hold.release();
	await until("the other files to be removed", () => readdirSync(folder).length === kept.length);
	failures[1]!();
	await expect(inserts[1]).rejects.toBe(failure);
});
