/**
 * Two servers on PostgreSQL and one on SQLite that are busy and have everything that dashboards show, with the faults
 * that the alert rules are about, and what repairs each.
 */
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, type TestContext } from "vitest";
import { slowFlushes, trouble } from "../support/failing-disk.ts";
import { postgres } from "../support/postgres.ts";
import { call, type ServiceProcess } from "../support/service.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { webhookReceiver } from "../support/webhook-receiver.ts";
import { run, site, WORKER } from "../e2e/site.ts";

const MIB = 2 ** 20;
const noStrace = trouble("strace", "-V");
/** Pause between two rounds of jobs, ms. */
const ROUND_MS = 200;
const CLOCK = new URL("../support/step-clock.mjs", import.meta.url).pathname;

export interface Fault {
	alert: string;
	/** Labels of the alert. */
	labels: Record<string, string>;
	begin(): unknown;
	repair(): unknown;
}

export interface MonitoringSite {
	/** Host and port of each server. */
	targets: string[];
	/** Faults that may be there at the same time; later groups stop the metrics of earlier ones. */
	faults: Fault[][];
}

const hostOf = ({ url }: ServiceProcess): string => new URL(url).host;

export async function monitoringSite(test: Pick<TestContext, "onTestFinished">): Promise<MonitoringSite> {
	const database = await (await postgres()).createDatabase();
	test.onTestFinished(database.drop);
	const proxy = await tcpProxy(Number(new URL(database.url).port));
	test.onTestFinished(() => proxy.close());
	const webhooks = await heldReceiver(test);
	const refusing = await webhookReceiver({ reply: () => 500 });
	test.onTestFinished(refusing.end);
	const [one, two, alone] = [site(test), site(test), site(test)];
	const clock = join(two.folder.path, "clock");
	const fixed = join(one.folder.path, "fixed");
	const free = { limits: "off", webhooks: { schedule: [] } };
	const shared = {
		works: one.launched({ ...free, workersMin: 1 }),
		fails: one.launched({ ...free, workersMin: 1 }),
		crashes: one.launched({
			workersMin: 1,
			launcher: { type: "process", command: ["sh", "-c", `test -e ${fixed} && exec ${WORKER.join(" ")}; exit 1`] },
		}),
		waits: {},
		sleeps: one.launched({
			...free,
			workersMax: 1,
			gpusPerWorker: 1,
			idleTimeout: 1,
			sleep: { command: ["true"], wakeCommand: ["true"] },
		}),
	};
	const serve = (place: typeof one, store: string, env: Record<string, string> = {}) =>
		place.serve({
			endpoints: shared,
			args: ["--store", store, "--data-dir", join(place.folder.path, "data"), "--drain-timeout", "0"],
			env: { SLUICE_SECRET: "one secret for both", ...env },
			file: { budgets: { reservedDisk: 0 }, gpus: 1, webhooks: { allowPrivateNetworks: true } },
		});
	const a = await serve(one, proxy.through(database.url));
	const clockEnv = { NODE_OPTIONS: `--import ${CLOCK}`, STEP_CLOCK: clock };
	const b = await serve(two, database.url, clockEnv);

	const disk = smallDisk(test, join(alone.folder.path, "disk"));
	const gpuEndpoint = alone.launched({ ...free, workersMax: 1, gpusPerWorker: 1, idleTimeout: 60 });
	const c = await alone.serve({
		endpoints: {
			left: gpuEndpoint,
			right: gpuEndpoint,
			large: alone.launched({ gpusPerWorker: 2, workersMax: 1 }),
		},
		args: ["--store", `sqlite:${join(disk.path, "sluice.db")}`, "--drain-timeout", "0"],
		file: { budgets: { reservedDisk: MIB }, gpus: 1 },
	});

	const inLoad = new Set<string>();
	/** A fault of the load. */
	const ofLoad = (alert: string, endpoint: string): Fault => ({
		alert,
		labels: { endpoint },
		begin: () => inLoad.add(alert),
		repair: () => inLoad.delete(alert),
	});
	load(test, {
		// One after another: a server that does not answer holds up none of the others.
		jobs: [
			() => submit(a, "works", {}, webhooks.url),
			() => submit(b, "works", {}),
			() => submit(b, "fails", inLoad.has("SluiceFailures") ? { fail: "planted" } : {}),
			() => inLoad.has("SluiceWebhooksFail") && submit(b, "works", {}, refusing.url),
			() => submit(c, "left", {}),
		],
		every: [
			[30, () => submit(b, "sleeps", {})],
			[10, () => submit(c, "right", {})],
		],
	});

	let waiting = "";
	const answer = async (server: ServiceProcess, path: string, init: Parameters<typeof call>[2]): Promise<void> => {
		const { status, text } = await call(server.url, path, init);
		expect(status, text).toBeLessThan(300);
	};
	const waits = {
		begin: async () => void (waiting ||= await run(b, "waits", {})),
		repair: () => call(b.url, `/v2/waits/cancel/${waiting}`, { method: "POST" }),
	};
	return {
		targets: [a, b, c].map(hostOf),
		faults: [
			[
				{ alert: "SluiceOldestWait", labels: { endpoint: "waits" }, ...waits },
				{ alert: "SluiceNoWorkers", labels: { endpoint: "waits" }, ...waits },
				{
					alert: "SluiceCrashLoop",
					labels: { endpoint: "crashes" },
					begin: () => {},
					async repair() {
						writeFileSync(fixed, "");
						await answer(b, "/v1/endpoints/crashes/workers/start", { method: "POST" });
					},
				},
				{
					alert: "SluiceNoCapacity",
					labels: { endpoint: "large", reason: "no_gpu_free" },
					begin: () => submit(c, "large", {}),
					repair: () => answer(c, "/v2/large/purge-queue", { method: "POST" }),
				},
				ofLoad("SluiceFailures", "fails"),
				ofLoad("SluiceWebhooksFail", "works"),
				{
					alert: "SluiceWebhookBacklog",
					labels: { endpoint: "works" },
					begin: () => webhooks.hold(),
					repair: () => webhooks.release(),
				},
				{
					alert: "SluiceClockSkew",
					labels: { instance: hostOf(b) },
					begin: () => writeFileSync(clock, "5000"),
					repair: () => writeFileSync(clock, "0"),
				},
			],
			[
				{
					alert: "SluiceStoreDown",
					labels: { instance: hostOf(a) },
					begin() {
						proxy.refuse();
						proxy.cut();
					},
					repair: () => proxy.pass(),
				},
				{
					alert: "SluiceServerDown",
					labels: { instance: hostOf(b) },
					begin: () => b.end("SIGKILL"),
					repair: () => serve(two, database.url, clockEnv),
				},
				...(noStrace === undefined ? [slowDisk(c, `${disk.path}/sluice.db-wal`)] : []),
				...(disk.missing === undefined
					? [
							{
								alert: "SluiceDiskAlmostFull",
								labels: { instance: hostOf(c) },
								begin: disk.fill,
								repair: disk.free,
							},
						]
					: []),
			],
		],
	};
}

/** Flushes take longer than the alert allows. */
function slowDisk(service: ServiceProcess, file: string): Fault {
	let heal = async (): Promise<void> => {};
	return {
		alert: "SluiceStoreSlow",
		labels: { instance: hostOf(service) },
		begin: async () => void (heal = await slowFlushes(service, file, 600)),
		repair: () => heal(),
	};
}

/** Submits a job; a server that cannot take it is a fault of the test's own. */
async function submit({ url }: ServiceProcess, endpoint: string, input: object, webhook?: string): Promise<void> {
	await call(url, `/v2/${endpoint}/run`, { body: { input, ...(webhook === undefined ? {} : { webhook }) } });
}

/** Submits rounds of jobs until the test ends; some only every so many rounds. */
function load(
	{ onTestFinished }: Pick<TestContext, "onTestFinished">,
	{ jobs, every }: { jobs: (() => unknown)[]; every: [rounds: number, job: () => unknown][] },
): void {
	const ended = new AbortController();
	const rounds = (async () => {
		for (let round = 0; !ended.signal.aborted; round += 1) {
			const due = [...jobs, ...every.filter(([each]) => round % each === 0).map(([, job]) => job)];
			await Promise.allSettled(due.map((job) => job()));
			await sleep(ROUND_MS);
		}
	})();
	onTestFinished(async () => {
		ended.abort();
		await rounds;
	});
}

/** Answers webhooks with 200, or holds its answers. */
async function heldReceiver({ onTestFinished }: Pick<TestContext, "onTestFinished">) {
	let held: (() => void)[] | undefined;
	const receiver = await webhookReceiver({
		reply: () => (response) => {
			const answer = (): void => void response.writeHead(200).end();
			if (held) held.push(answer);
			else answer();
		},
	});
	onTestFinished(receiver.end);
	return {
		url: receiver.url,
		hold: () => (held ??= []),
		release() {
			for (const answer of held?.splice(0) ?? []) answer();
			held = undefined;
		},
	};
}

/** A disk of 64 MiB of its own; without root a folder of the machine's. */
function smallDisk({ onTestFinished }: Pick<TestContext, "onTestFinished">, path: string) {
	mkdirSync(path);
	const missing = trouble("mount", "-t", "tmpfs", "-o", "size=64m", "sluice-test", path);
	if (missing === undefined) onTestFinished(() => void trouble("umount", "-l", path));
	const filler = join(path, "filler");
	return {
		path,
		missing,
		/** All but 3 MiB. */
		fill() {
			const { bavail, bsize } = statfsSync(path);
			writeFileSync(filler, Buffer.alloc(bavail * bsize - 3 * MIB));
		},
		free: () => rmSync(filler),
	};
}
