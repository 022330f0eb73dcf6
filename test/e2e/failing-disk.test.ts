/**
 * Disks that fail: a failed write is an outage, a failed flush ends the process, and nothing that was
 * acknowledged is lost (D17, D40, decision 0031).
 */
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ext4, failing, trouble } from "../support/failing-disk.ts";
import { call, folder, type ServiceProcess } from "../support/service.ts";
import { until, within } from "../support/until.ts";
import { jobAt, run, site, type Site } from "./site.ts";

/** In a payload file. */
const LARGE = { fail: "x".repeat(100_000) };

const ENDPOINTS = { e: { launcher: { type: "external" }, limits: "off" } };

function serveOn(place: Site, database: string): Promise<ServiceProcess> {
	return place.serve({
		endpoints: ENDPOINTS,
		args: ["--drain-timeout", "0", "--store", `sqlite:${database}`],
	});
}

async function submit(service: ServiceProcess, input: object): ReturnType<typeof call> {
	return await call(service.url, "/v2/e/run", { body: { input } });
}

async function ready(service: ServiceProcess): Promise<void> {
	await until("the service to be ready", async () => {
		return (await call(service.url, "/readyz", { key: null })).status === 200;
	});
}

/** Of a title: why the test is skipped. */
function unless(missing: string | undefined): string {
	return missing === undefined ? "" : ` (not here: ${missing})`;
}

const noStrace = trouble("strace", "-V");

it.skipIf(noStrace !== undefined)(
	`D40: a failed write is an outage that passes${unless(noStrace)}`,
	{ timeout: 60_000 },
	async (test) => {
		const place = site(test);
		const database = join(place.folder.path, "sluice.db");
		const service = await serveOn(place, database);
		const ids = [await run(service, "e", LARGE)];

		const healPayloads = await failing(service, "write", `${database}.payloads/1`);
		const large = await submit(service, LARGE);
		expect(large).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
		expect(large.json.error).toMatch(/sluice\.db\.payloads cannot be written: EIO/);
		await healPayloads();
		ids.push(await run(service, "e", {}));

		const heal = await failing(service, "write", `${database}-wal`);
		const small = await submit(service, {});
		expect(small).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
		expect(small.json.error).toMatch(/sluice\.db cannot be written: disk I\/O error/);
		for (const id of ids) expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
		await heal();
		await ready(service);
		ids.push(await run(service, "e", LARGE));
		for (const id of ids) expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
	},
);

it.skipIf(noStrace !== undefined)(
	`D17: a failed flush ends the service; the next one has what was acknowledged${unless(noStrace)}`,
	{ timeout: 60_000 },
	async (test) => {
		const place = site(test);
		const database = join(place.folder.path, "sluice.db");
		const ids: string[] = [];
		for (const [file, input, named] of [
			[`${database}-wal`, {}, database],
			// Each start begins another file.
			[`${database}.payloads/2`, LARGE, `${database}.payloads/2`],
		] as const) {
			const service = await serveOn(place, database);
			for (const id of ids) expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
			ids.push(await run(service, "e", LARGE), await run(service, "e", {}));
			const exited = once(service.child, "exit");
			await failing(service, "flush", file);
			const answer = await submit(service, input).catch(() => undefined);
			expect(answer?.status ?? 503).toBe(503);
			const [code] = (await within("the end", exited, 10_000)) as [number];
			expect(code).toBe(1);
			expect(service.stderr()).toContain(`${named} could not be flushed to disk`);
			expect(service.stderr()).toContain("Check the disk");
		}
		const service = await serveOn(place, database);
		for (const id of ids) expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
		await run(service, "e", LARGE);
	},
);

it("D17: without its payload files a service takes no large one; damage is logged", async (test) => {
	const place = site(test);
	const database = join(place.folder.path, "sluice.db");
	const service = await serveOn(place, database);
	const id = await run(service, "e", LARGE);
	renameSync(`${database}.payloads`, `${database}.lost`);
	expect(await submit(service, LARGE)).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
	await until("the loss to be logged", () => service.stderr().includes(`${database}.payloads`));
	await ready(service);
	await run(service, "e", {});
	expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
	renameSync(`${database}.lost`, `${database}.payloads`);
	await ready(service);
	await run(service, "e", LARGE);
	truncateSync(`${database}.payloads/1`);
	await call(service.url, `/v1/endpoints/e/jobs/${id}`);
	await until("the damage to be logged", () => service.stderr().includes(`${database}.payloads/1 is damaged`));
});

const noTmpfs = tried((path) => mountInodes(path) ?? trouble("umount", path));

function mountInodes(path: string): string | undefined {
	return trouble("mount", "-t", "tmpfs", "-o", "size=16m,nr_inodes=24", "sluice-test", path);
}

function tried(attempt: (path: string) => string | undefined): string | undefined {
	const place = folder();
	try {
		return attempt(place.path);
	} finally {
		place.remove();
	}
}

it.skipIf(noTmpfs !== undefined)(
	`D40: a file system without free inodes takes no payload file and says so${unless(noTmpfs)}`,
	{ timeout: 60_000 },
	async (test) => {
		const place = site(test);
		const disk = join(place.folder.path, "disk");
		mkdirSync(disk);
		expect(mountInodes(disk)).toBeUndefined();
		test.onTestFinished(() => void trouble("umount", "-l", disk));
		const service = await serveOn(place, join(disk, "sluice.db"));
		const fillers: string[] = [];
		await expect(async () => {
			for (let n = 0; n < 100; n += 1) {
				const path = join(disk, `filler-${n}`);
				writeFileSync(path, "");
				fillers.push(path);
			}
		}).rejects.toThrow("ENOSPC");
		const large = await submit(service, LARGE);
		expect(large).toMatchObject({ status: 503, json: { code: "store_unavailable" } });
		expect(large.json.error).toContain("the file system has no free inodes");
		await ready(service);
		const small = await run(service, "e", {});
		for (const path of fillers) rmSync(path);
		const id = await until("room for a payload file", async () => {
			const answer = await submit(service, LARGE);
			return answer.status === 200 && (answer.json.id as string);
		});
		for (const each of [small, id]) expect(await jobAt(service, "e", each)).toHaveProperty("id", each);
	},
);

const noExt4 = tried((path) => {
	try {
		ext4(path).remove();
		return undefined;
	} catch (error) {
		return (error as Error).message;
	} finally {
		rmSync(`${path}.img`, { force: true });
	}
});

it.skipIf(noExt4 !== undefined)(
	`D40: a file system that turned read-only refuses submissions, reads go on${unless(noExt4)}`,
	{ timeout: 60_000 },
	async (test) => {
		const place = site(test);
		const path = join(place.folder.path, "disk");
		mkdirSync(path);
		const disk = ext4(path);
		test.onTestFinished(disk.remove);
		const database = join(path, "sluice.db");
		const service = await serveOn(place, database);
		const ids = [await run(service, "e", LARGE), await run(service, "e", {})];
		disk.breakDown();
		const refused = await submit(service, {});
		expect(refused, refused.text).toMatchObject({
			status: 503,
			json: { code: "store_unavailable" },
		});
		for (const id of ids) expect(await jobAt(service, "e", id)).toHaveProperty("id", id);
		await service.end("SIGKILL");
		disk.repair();
		const again = await serveOn(place, database);
		for (const id of ids) expect(await jobAt(again, "e", id)).toHaveProperty("id", id);
		await run(again, "e", LARGE);
		await again.end();
	},
);
