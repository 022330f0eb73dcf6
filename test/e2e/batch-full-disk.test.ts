/** A batch whose disk is full when a part is written, when its output is written, and when it ends (D40, D57). */
import {
	closeSync,
	existsSync,
	ftruncateSync,
	mkdirSync,
	openSync,
	readdirSync,
	rmSync,
	watch,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { trouble } from "../support/failing-disk.ts";
import { call, folder } from "../support/service.ts";
import { until, untilFits } from "../support/until.ts";
import { batchAt, checkAt, createBatch } from "../torture/batches/campaign.ts";
import { ENDPOINT } from "../torture/batches/requests.ts";
import { type CampaignSite, campaignSite } from "../torture/batches/site.ts";

/** Why no file system of a test's own can be had here. */
const NO_MOUNT = trouble("unshare", "--mount", "mount", "-t", "tmpfs", "sluice-test", "/mnt");

/** 500 results make the first part; the last requests are held until it is there. */
const [COUNT, HELD_FROM] = [520, 510];

/** Room for the second part, but not for a copy of both, which have five answers of 100 kB. */
const SPARE = 400_000;

/** A file system of its own. */
function disk(
	test: TestContext,
	path: string,
	size: string,
): { path: string; fill(spare?: number): void; free(): void } {
	mkdirSync(path);
	expect(trouble("mount", "-t", "tmpfs", "-o", `size=${size}`, "sluice-test", path)).toBeUndefined();
	test.onTestFinished(() => void trouble("umount", "-l", path));
	const filler = join(path, "filler");
	return {
		path,
		fill(spare = 0) {
			const file = openSync(filler, "a");
			let written = 0;
			for (let size = 65_536; size >= 1; )
				try {
					written += writeSync(file, Buffer.alloc(size));
				} catch (error) {
					if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
					size = Math.floor(size / 2);
				}
			ftruncateSync(file, written - spare);
			closeSync(file);
		},
		free: () => rmSync(filler),
	};
}

/** Names that appeared in the folder, or disappeared, since the last call. */
function changesIn(test: TestContext, path: string): () => Set<string> {
	let names = new Set<string>();
	const watcher = watch(path, (_, name) => void names.add(name!));
	test.onTestFinished(() => watcher.close());
	return () => {
		const seen = names;
		names = new Set();
		return seen;
	};
}

/** Submits jobs until there is no room for a small one. */
async function fillUp({ urls }: CampaignSite): Promise<number> {
	let jobs = 0;
	for (const padding of [5000, 0])
		await until("a refusal", async () => {
			const body = { input: { openai_input: { n: 0 }, padding: "x".repeat(padding) } };
			const { status } = await call(urls()[0]!, `/v2/${ENDPOINT}/run`, { body });
			if (status === 200) jobs += 1;
			return status === 503;
		});
	return jobs;
}

it.skipIf(NO_MOUNT !== undefined)(
	`D40, D57: full when a part, the output and the end are stored: it goes on when there is room ${NO_MOUNT ?? ""}`,
	{ timeout: 60_000 },
	async (test) => {
		const place = folder();
		test.onTestFinished(place.remove);
		const database = disk(test, join(place.path, "disk"), "24m");
		const file = join(database.path, "sluice.db");
		const files = disk(test, `${file}.files`, "8m");
		const site = await campaignSite({ file, workers: 2, env: { CONCURRENCY: "8" } });
		test.onTestFinished(() => site.end());
		const changes = changesIn(test, files.path);
		const stored = (): string[] => readdirSync(files.path).filter((name) => /^file-\w+$/.test(name));

		/** Resolves when so many files were begun from now on. */
		async function tries(count: number): Promise<void> {
			const begun = new Set<string>();
			changes();
			await until(`${count} files to be begun`, () => {
				for (const name of changes()) if (name.endsWith(".part")) begun.add(name);
				return begun.size >= count;
			});
		}

		site.hold(0);
		const id = await createBatch(site.urls()[0]!, COUNT);
		const batch = async () => (await batchAt(site.urls(), id))!;
		const input = stored();
		expect(input).toHaveLength(1);

		files.fill();
		site.hold(HELD_FROM);
		await tries(2);
		expect(await batch()).toMatchObject({ status: "in_progress", output_file_id: null });
		expect(stored()).toEqual(input);

		files.free();
		await until("the first parts", () => stored().length === 3);
		files.fill(SPARE);
		site.hold(Infinity);
		await untilFits(batch, ({ status }) => status === "finalizing");
		await tries(2);
		expect(await batch()).toMatchObject({ status: "finalizing", output_file_id: null });
		const parts = stored();
		expect(parts.length).toBeGreaterThan(3);

		database.fill();
		const jobs = await fillUp(site);
		changes();
		files.free();
		const made = new Set<string>();
		await until("an output that is dropped again", () => {
			for (const name of changes()) if (/^file-\w+$/.test(name) && !parts.includes(name)) made.add(name);
			return [...made].some((name) => !existsSync(join(files.path, name)));
		});
		expect(await batch()).toMatchObject({ status: "finalizing", output_file_id: null });

		database.free();
		const ended = await untilFits(batch, ({ status }) => status !== "finalizing");
		const { violations, answers } = await checkAt(site.urls()[0]!, ended, COUNT);
		expect(violations).toEqual([]);
		expect(answers).toBe(COUNT - 10);
		await until("the parts to be removed", () => stored().length === 3);
		// No worker died, so each has run once.
		const runs = site.runs();
		expect(new Set(runs).size).toBe(COUNT);
		expect(runs.length).toBeLessThanOrEqual(COUNT + jobs);
	},
);
