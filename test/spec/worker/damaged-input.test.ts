/** Inputs that a disk has changed since they were stored (D40, decision 0014): SQLite only. */
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { advanceUntil } from "../../support/manual-clock.ts";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";
import { folder } from "../../support/service.ts";
import { ON_POSTGRES } from "../../support/service-store.ts";

const NEEDLE = "a needle that each damaged input has";

/** A service whose inputs were stored by an earlier one, those with the needle damaged since. */
async function reopened(inputs: readonly string[]): Promise<{ b: Bench; ids: string[]; path: string }> {
	const place = folder();
	onTestFinished(() => place.remove());
	const before = await bench({ in: place });
	const ids: string[] = [];
	for (const text of inputs) ids.push(await before.submit({ input: { text } }));
	let stopped = false;
	void before.end().then(() => (stopped = true));
	await advanceUntil(before.clock, () => stopped, 1);
	for (const name of readdirSync(place.path, { recursive: true, encoding: "utf8" })) {
		if (!/\.db$|\.payloads\/\d+$/.test(name)) continue;
		const path = join(place.path, name);
		const bytes = readFileSync(path);
		for (let at = bytes.indexOf(NEEDLE); at !== -1; at = bytes.indexOf(NEEDLE, at)) bytes[at + 3]! ^= 1;
		writeFileSync(path, bytes);
	}
	const b = await bench({ in: place, startAt: before.clock.now() + 1000 });
	onTestFinished(() => b.end());
	return { b, ids, path: place.path };
}

it.skipIf(ON_POSTGRES)("D40: a job whose stored input is damaged fails, and the others of its claim run", async () => {
	const large = "x".repeat(100_000);
	const { b, ids } = await reopened([NEEDLE, "first", large + NEEDLE, large]);
	const [small, first, inFile, last] = ids as [string, string, string, string];
	const worker = await b.worker();
	expect(idsOf(await worker.takeBatch({ size: 10 }))).toEqual([first, last]);
	for (const id of [small, inFile])
		expect(await b.status(id)).toMatchObject({
			status: "FAILED",
			error: "The stored input of the job is damaged: it is not as it was submitted. Submit the job again.",
		});
	for (const id of [first, last]) expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	expect(b.of("fault").map(({ where }) => where)).toEqual([
		`reading the input of job ${small}`,
		`reading the input of job ${inFile}`,
	]);
});

it.skipIf(ON_POSTGRES)(
	"D17: a job whose payload file is missing returns to the queue, and runs with the file",
	async () => {
		const { b, ids, path } = await reopened(["x".repeat(100_000)]);
		const folder = readdirSync(path, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith(".payloads"))!;
		renameSync(join(path, folder), join(path, "lost"));
		const first = await b.worker();
		first.take().catch(() => {});
		await advanceUntil(b.clock, () => b.of("fault").length > 0, 100);
		renameSync(join(path, "lost"), join(path, folder));
		await advanceUntil(b.clock, () => b.of("job.returned").length > 0, 100);
		// The worker that the claim was for may have the job, so another one gets it.
		const worker = await b.worker();
		expect(idsOf(await b.reached(worker.take()))).toEqual(ids);
		expect(b.of("job.settled")).toEqual([]);
	},
);
