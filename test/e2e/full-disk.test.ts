/**
 * The disk is full: submissions are refused, reads go on, workers' results wait, and nothing
 * acknowledged is lost (D40, D17).
 */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { call, folder, type ServiceProcess } from "../support/service.ts";
import { ended, isAlive, jobAt, run, site, type Site, started } from "./site.ts";
import { until, within } from "../support/until.ts";

/** A disk that can be full. */
interface Disk {
	fill(service: ServiceProcess): void;
	free(service: ServiceProcess): void;
}

interface Kind {
	name: string;
	/** Why it cannot be had on this machine. */
	missing: string | undefined;
	/** Makes it at this place; what it returns is undone at the end of the test. */
	make(path: string, size?: string): { disk: Disk; remove: () => void };
}

/** Runs a command; the sentence that says why it failed, if it did. */
function trouble(...[file, ...args]: [string, ...string[]]): string | undefined {
	try {
		execFileSync(file, args, { stdio: "pipe" });
		return undefined;
	} catch (error) {
		return `${file}: ${(error as Error).message.split("\n")[1] ?? (error as Error).message}`;
	}
}

function mount(path: string, size = "6m"): string | undefined {
	return trouble("mount", "-t", "tmpfs", "-o", `size=${size}`, "sluice-test", path);
}

/** A small file system of its own, really full. */
const TMPFS: Kind = {
	name: "a tmpfs of 6 MB",
	missing: tried((path) => mount(path) ?? trouble("umount", path)),
	make(path, size) {
		const why = mount(path, size);
		if (why) throw new Error(why);
		const filler = join(path, "filler");
		return {
			disk: {
				fill() {
					const file = openSync(filler, "a");
					try {
						for (let size = 65_536; size >= 1; ) {
							try {
								writeSync(file, Buffer.alloc(size));
							} catch (error) {
								if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
								size = Math.floor(size / 2);
							}
						}
					} finally {
						closeSync(file);
					}
				},
				free: () => rmSync(filler),
			},
			remove: () => void trouble("umount", "-l", path),
		};
	},
};

/** No file of the service may grow: what a quota does, and possible without being root. */
const LIMIT: Kind = {
	name: "a limit on the size of files",
	missing: trouble("prlimit", "--version"),
	make: () => ({
		disk: {
			fill: ({ child }) => void execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=1:unlimited"]),
			free({ child }) {
				if (child.exitCode === null && child.signalCode === null)
					execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited:unlimited"]);
			},
		},
		remove: () => {},
	}),
};

function tried(attempt: (path: string) => string | undefined): string | undefined {
	const place = folder();
	try {
		return attempt(place.path);
	} finally {
		place.remove();
	}
}

/** A service whose store is on such a disk, with an external worker. */
async function setting(
	test: TestContext,
	kind: Kind,
): Promise<{
	place: Site;
	disk: Disk;
	serve: () => Promise<ServiceProcess>;
	service: ServiceProcess;
}> {
	const place = site(test);
	const path = join(place.folder.path, "disk");
	mkdirSync(path);
	const { disk, remove } = kind.make(path);
	test.onTestFinished(remove);
	const serve = (): Promise<ServiceProcess> =>
		place.serve({
			endpoints: {
				theirs: { launcher: { type: "external" }, limits: "off", leaseMs: 2000 },
				ours: place.launched({ workersMax: 1, stopGraceMs: 200 }),
			},
			args: ["--drain-timeout", "0", "--store", `sqlite:${join(path, "sluice.db")}`],
		});
	const service = await serve();
	await place.attach(service, "theirs");
	return { place, disk, serve, service };
}

/**
 * Submits until there is no room for such an input; answers the refusal, and the ids of those that
 * still fitted.
 */
async function refusal(
	service: ServiceProcess,
	input: object,
): Promise<{ answer: Awaited<ReturnType<typeof call>>; acknowledged: string[] }> {
	const acknowledged: string[] = [];
	const answer = await until("a refusal", async () => {
		const seen = await call(service.url, "/v2/theirs/run", { body: { input } });
		if (seen.status === 200) acknowledged.push(seen.json.id as string);
		return seen.status !== 200 && seen;
	});
	return { answer, acknowledged };
}

/** Lets the run end and waits until the service holds its result. */
async function held(place: Site, service: ServiceProcess, id: string): Promise<void> {
	place.allow("allowed");
	await until("the run to end", () => place.notes().some((each) => each.what === "end" && each.id === id));
	await until("the result to be held", () => service.stderr().includes("the store cannot be written"));
}

describe("a full disk", () => {
	for (const kind of [TMPFS, LIMIT]) {
		const title =
			`D40: ${kind.name}: /run is 503, reads go on, a result is held and kept when there ` +
			`is room again${kind.missing === undefined ? "" : ` (not here: ${kind.missing})`}`;
		it.skipIf(kind.missing !== undefined)(title, { timeout: 40_000 }, async (test) => {
			const { place, disk, service } = await setting(test, kind);
			const running = await run(service, "theirs", { until: "allowed", size: 100_000 });
			await started(place, running);

			disk.fill(service);
			const large = await refusal(service, { padding: "x".repeat(5000) });
			expect(large.answer.status, large.answer.text).toBe(503);
			expect(large.answer.json).toMatchObject({
				code: "store_unavailable",
				error: expect.stringContaining("Nothing was accepted"),
			});
			expect(Number(large.answer.headers.get("retry-after"))).toBeGreaterThan(0);
			const small = await refusal(service, {});
			expect(small.answer.status).toBe(503);
			const acknowledged = [...large.acknowledged, ...small.acknowledged];
			const ready = await call(service.url, "/readyz", { key: null });
			expect(ready).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
			for (const id of acknowledged) expect(await jobAt(service, "theirs", id)).toMatchObject({ status: "IN_QUEUE" });

			await held(place, service, running);
			expect(await jobAt(service, "theirs", running)).toMatchObject({ status: "IN_PROGRESS" });
			disk.free(service);
			const job = await ended(service, "theirs", running);
			expect(job.status, JSON.stringify(job).slice(0, 500)).toBe("COMPLETED");
			expect(job.output.padding).toHaveLength(100_000);
			expect(place.runs(running)).toHaveLength(1);
			for (const id of acknowledged) expect(await ended(service, "theirs", id)).toMatchObject({ status: "COMPLETED" });
			expect((await call(service.url, "/readyz", { key: null })).status).toBe(200);
			await run(service, "theirs", {});
		});
	}

	const possible = [TMPFS, LIMIT].find((kind) => kind.missing === undefined);
	const why = possible ? "" : " (no full disk here)";
	it.skipIf(!possible)(
		`D17: a held result is not acknowledged: after a kill the worker sends it again${why}`,
		{ timeout: 40_000 },
		async (test) => {
			const { place, disk, serve, service } = await setting(test, possible!);
			const running = await run(service, "theirs", { until: "allowed", size: 100_000 });
			await started(place, running);
			disk.fill(service);
			// The log may have room for one result.
			await refusal(service, { padding: "x".repeat(5000) });
			await held(place, service, running);
			await service.end("SIGKILL");
			disk.free(service);
			const job = await ended(await serve(), "theirs", running);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(running)).toHaveLength(1);
		},
	);

	it.skipIf(!possible)(
		"D34: does not hold up a stop; what ran runs again after the next start",
		{ timeout: 40_000 },
		async (test) => {
			const { place, disk, serve, service } = await setting(test, possible!);
			const running = await run(service, "ours", { until: "allowed" });
			const { pid } = await started(place, running);
			disk.fill(service);
			expect(await within("the stop", service.end(), 10_000)).toBe(0);
			expect(isAlive(pid)).toBe(false);
			disk.free(service);
			place.allow("allowed");
			expect(await ended(await serve(), "ours", running)).toMatchObject({ status: "COMPLETED" });
			expect(place.runs(running)).toHaveLength(2);
		},
	);

	const noTmpfs = TMPFS.missing === undefined ? "" : ` (not here: ${TMPFS.missing})`;
	it.skipIf(TMPFS.missing !== undefined)(
		`D40: at the start: reads and results are answered, submissions are 503, until there is room${noTmpfs}`,
		{ timeout: 60_000 },
		async (test) => {
			const { place, disk, serve, service } = await setting(test, TMPFS);
			place.allow("now");
			const done = await run(service, "theirs", { until: "now", size: 50_000 });
			expect(await ended(service, "theirs", done)).toMatchObject({ status: "COMPLETED" });
			const running = await run(service, "theirs", { until: "allowed" });
			await started(place, running);
			// Then the log has no room that could be written again.
			await service.end();
			disk.fill(service);

			const full = await serve();
			expect(full.stdout()).toMatch(/^READ-ONLY: \S+sluice\.db cannot be written: .*full/m);
			expect(full.stderr()).toContain("the store cannot be written");
			const ready = await call(full.url, "/readyz", { key: null });
			expect(ready).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
			expect(ready.json.error).toContain("database or disk is full");
			const job = await jobAt(full, "theirs", done);
			expect(job.output.padding).toHaveLength(50_000);
			expect(await jobAt(full, "theirs", running)).toHaveProperty("id", running);
			const list = await call(full.url, "/v1/endpoints/theirs/jobs");
			expect(list.json.jobs.map(({ id }: { id: string }) => id).toSorted()).toEqual([done, running].toSorted());
			const { answer } = await refusal(full, {});
			expect(answer).toMatchObject({ status: 503, json: { code: "store_unavailable" } });

			disk.free(full);
			await until("the service to be ready", async () => {
				return (await call(full.url, "/readyz", { key: null })).status === 200;
			});
			place.allow("allowed");
			expect(await ended(full, "theirs", running)).toMatchObject({ status: "COMPLETED" });
			await run(full, "theirs", {});
		},
	);

	it.skipIf(TMPFS.missing !== undefined)(
		`D41: is purged by the API, also after a restart: a part of the reserve is given up for that${noTmpfs}`,
		{ timeout: 90_000 },
		async (test) => {
			const place = site(test);
			const path = join(place.folder.path, "disk");
			mkdirSync(path);
			const { disk, remove } = TMPFS.make(path, "32m");
			test.onTestFinished(remove);
			const database = join(path, "sluice.db");
			const serve = (): Promise<ServiceProcess> =>
				place.serve({
					endpoints: { theirs: { launcher: { type: "external" }, limits: "off" } },
					file: { budgets: { reservedDisk: 8 * 2 ** 20 } },
					args: ["--drain-timeout", "0", "--store", `sqlite:${database}`],
				});
			const ballast = (): number => statSync(`${database}.ballast`, { throwIfNoEntry: false })?.size ?? 0;
			const purged = (service: ServiceProcess): Promise<number> =>
				until("the purge", async () => {
					const answer = await call(service.url, "/v2/theirs/purge-queue", { method: "POST" });
					return answer.status === 200 && (answer.json.removed as number);
				});
			let service = await serve();
			for (const restarts of [false, true]) {
				await until("the ballast", () => ballast() === 2 ** 20);
				const ids: string[] = [];
				for (let n = 0; n < 20; n += 1) ids.push(await run(service, "theirs", { fail: "x".repeat(50_000) }));
				if (restarts) await service.end();
				disk.fill(service);
				if (restarts) service = await serve();
				expect(await purged(service)).toBe(ids.length);
				expect(ballast()).toBe(0);
				for (const id of ids) expect((await call(service.url, `/v2/theirs/status/${id}`)).status).toBe(404);
				// The disk is checked once a second.
				const { answer } = await refusal(service, {});
				expect(answer).toMatchObject({ status: 503, json: { error: expect.stringContaining("reserved for results") } });
				disk.free(service);
				await until("room for submissions", async () => {
					return (await call(service.url, "/v2/theirs/run", { body: { input: {} } })).status === 200;
				});
				expect(await purged(service)).toBeGreaterThan(0);
			}
		},
	);
});
