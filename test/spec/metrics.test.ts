/** `/metrics` for Prometheus (D40). */
import { ALL_ERRORS } from "../../src/modules/tables.ts";
import { spawnSync } from "node:child_process";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MODULES } from "../../src/modules/index.ts";
import type { Family, FamilyDescription } from "../../src/kernel/core/metrics/family.ts";
import { exposition } from "../../src/modules/metrics/families/exposition.ts";
import { AREAS } from "../../src/modules/metrics/families/families.ts";
import { newHistogram } from "../../src/kernel/lib/histogram.ts";
import { StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { ON_POSTGRES } from "../support/service-store.ts";
import { begun, endWith, expectError, handWorker, submitted } from "./hand-worker.ts";
import { keyWith, operator } from "./operator.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { a: {}, b: {}, requeues: { leaseMs: 20_000 }, waits: {}, hooks: {} },
		settings: { webhooks: { allowPrivateNetworks: true } },
		clock,
	});
});
afterAll(() => endWith(service, clock));

/** The text, and its samples by name with labels. */
async function scraped(
	key = KEY,
	headers: Record<string, string> = {},
): Promise<{ text: string; samples: Map<string, number> }> {
	const response = await fetch(`${service.url}/metrics`, {
		headers: { authorization: `Bearer ${key}`, ...headers },
	});
	expect([response.status, response.headers.get("content-type")]).toEqual([
		200,
		"text/plain; version=0.0.4; charset=utf-8",
	]);
	const text = await response.text();
	const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
	return {
		text,
		samples: new Map(
			lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
		),
	};
}

it("D40: jobs, workers, ends and durations by endpoint", async () => {
	const worker = await handWorker(service, "a");
	const ids = [await submitted(service, "a"), await submitted(service, "a"), await submitted(service, "a")];
	await clock.advance(3000);
	await worker.takeThis(ids[0]!);
	await clock.advance(200);
	await worker.done(ids[0]!, { output: {} });
	await worker.takeThis(ids[1]!);
	const { samples } = await scraped();
	const valueOf = (name: string): number | undefined => samples.get(name);
	expect([
		valueOf('sluice_jobs{endpoint="a",state="IN_QUEUE"}'),
		valueOf('sluice_jobs{endpoint="a",state="IN_PROGRESS"}'),
		valueOf('sluice_jobs{endpoint="b",state="IN_QUEUE"}'),
	]).toEqual([1, 1, 0]);
	expect([
		valueOf('sluice_workers{endpoint="a",state="running"}'),
		valueOf('sluice_workers{endpoint="a",state="idle"}'),
	]).toEqual([1, 0]);
	expect([
		valueOf('sluice_jobs_submitted_total{endpoint="a"}'),
		valueOf('sluice_jobs_ended_total{endpoint="a",outcome="completed"}'),
		valueOf('sluice_jobs_ended_total{endpoint="a",outcome="failed"}'),
	]).toEqual([3, 1, 0]);
	expect(valueOf('sluice_job_delay_seconds_count{endpoint="a"}')).toBe(2);
	expect([
		valueOf('sluice_job_execution_seconds_bucket{endpoint="a",le="0.064"}'),
		valueOf('sluice_job_execution_seconds_bucket{endpoint="a",le="0.256"}'),
		valueOf('sluice_job_execution_seconds_bucket{endpoint="a",le="+Inf"}'),
	]).toEqual([0, 1, 1]);
	expect(valueOf('sluice_job_execution_seconds_sum{endpoint="a"}')).toBeCloseTo(0.2, 1);
	expect([
		valueOf("sluice_store_up"),
		valueOf("process_resident_memory_bytes")! > 10_000_000,
		valueOf("process_cpu_seconds_total")! > 0,
	]).toEqual([1, true, true]);
});

it("D40: the text is well-formed: families with help and type, samples in order, buckets that rise", async () => {
	const { text, samples } = await scraped();
	expect(text.endsWith("\n")).toBe(true);
	const families = new Map<string, string>();
	let family = "";
	for (const line of text.trimEnd().split("\n")) {
		const head = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line);
		if (head?.[1] === "HELP") {
			expect(families.has(head[2]!)).toBe(false);
			families.set((family = head[2]!), "");
		} else if (head) {
			expect(head[2]).toBe(family);
			families.set(family, head[3]!);
		} else {
			expect(line).toMatch(/^[a-z_0-9]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? (\d+(\.\d+)?(e[-+]\d+)?)$/);
			const name = /^\w+/.exec(line)![0];
			expect(families.get(family) === "histogram" ? name.replace(/_(bucket|sum|count)$/, "") : name).toBe(family);
		}
	}
	const buckets = [...samples]
		.filter(([name]) => name.startsWith('sluice_job_delay_seconds_bucket{endpoint="a"'))
		.map(([, value]) => value);
	expect(buckets).toEqual(buckets.toSorted((one, other) => one - other));
	expect(buckets.length).toBe(13);
});

/** Families of metrics and of other modules. */
async function described(): Promise<FamilyDescription[]> {
	const others = await Promise.all(MODULES.flatMap(({ familyDescriptions }) => familyDescriptions?.() ?? []));
	return [...Object.values(AREAS).flat(), ...others.flat()];
}

it.skipIf(spawnSync("promtool", ["--version"]).status !== 0)(
	"D40: promtool has no objections (skipped without Debian's package prometheus)",
	async () => {
		// It checks only families that have samples.
		const filled = exposition(
			(await described()).map(({ type, labels, ...rest }): Family => {
				const value = type === "histogram" ? newHistogram() : 1;
				return { ...rest, type, labels, samples: [[labels, value]] };
			}),
		);
		for (const input of [(await scraped()).text, filled]) {
			const { status, stderr } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
			expect([status, stderr]).toEqual([0, ""]);
		}
	},
);

it("D40: each family is defined once", async () => {
	const names = (await described()).map(({ name }) => name);
	expect(names.length).toBe(new Set(names).size);
});

it("D40: returns to the queue by cause, purges, dropped reports and the oldest wait", async () => {
	const of = async (name: string, labels = ""): Promise<number | undefined> =>
		(await scraped()).samples.get(`${name}{endpoint="requeues"${labels}}`);
	const requeued = async (): Promise<unknown[]> => {
		const { samples } = await scraped();
		return ["lost", "released", "retried"].map((cause) =>
			samples.get(`sluice_jobs_requeued_total{endpoint="requeues",cause="${cause}"}`),
		);
	};
	expect(await requeued()).toEqual([0, 0, 0]);
	const id = await submitted(service, "requeues");
	const lost = await handWorker(service, "requeues");
	await lost.takeThis(id);
	const returned = service.next("job.returned");
	while ((await of("sluice_jobs_requeued_total", ',cause="lost"')) === 0) await clock.advance(5000);
	await returned;
	const worker = await handWorker(service, "requeues");
	await worker.takeThis(id);
	await lost.done(id, { output: 1 });
	expect(await of("sluice_reports_dropped_total", ',reason="stale"')).toBe(1);
	await worker.done(id, { error: "no" });
	await call(service.url, `/v2/requeues/retry/${id}`, { method: "POST" });
	expect(await requeued()).toEqual([1, 0, 1]);
	expect(await of("sluice_job_oldest_wait_seconds")).toBe(0);
	await clock.advance(7000);
	await submitted(service, "requeues");
	expect(await of("sluice_job_oldest_wait_seconds")).toBe(7);
	await call(service.url, "/v2/requeues/purge-queue", { method: "POST" });
	expect([await of("sluice_jobs_purged_total"), await of("sluice_job_oldest_wait_seconds")]).toEqual([2, 0]);
});

it("D40: requests in flight by operation, refusals by code, bytes of open and closed connections", async () => {
	const valueOf = async (name: string): Promise<number> => (await scraped()).samples.get(name) ?? Number.NaN;
	const polls = 'sluice_http_requests_in_flight{operation="jobTake"}';
	const { id, token } = await handWorker(service, "waits");
	const headers = { authorization: token };
	const poll = await begun(service.url, `/worker/waits/job-take/${id}?gpu=none&job_in_progress=0`, { headers });
	expect(await valueOf(polls)).toBe(1);
	await submitted(service, "waits");
	expect((await poll.answer).status).toBe(200);
	expect(await valueOf(polls)).toBe(0);
	const missing = 'sluice_http_refusals_total{code="job_not_found"}';
	const before = await valueOf(missing);
	await call(service.url, "/v2/waits/status/none");
	expect(await valueOf(missing)).toBe(before + 1);
	const codes = [...(await scraped()).samples.keys()].flatMap(
		(name) => /^sluice_http_refusals_total\{code="(\w+)"/.exec(name)?.[1] ?? [],
	);
	expect(codes.toSorted()).toEqual(Object.keys(ALL_ERRORS).toSorted());
	expect(await valueOf('sluice_http_refusals_total{code="bad_json"}')).toBe(0);
	const [received, sent] = ["sluice_http_received_bytes_total", "sluice_http_sent_bytes_total"];
	const [hadReceived, hadSent] = [await valueOf(received), await valueOf(sent)];
	// On a connection of its own, which ends with the answer.
	await new Promise<void>((resolve) => {
		const closing = request(`${service.url}/v2/waits/run`, { method: "POST", agent: false, headers: {} });
		closing
			.on("close", resolve)
			.on("response", (answer) => answer.resume())
			.end(Buffer.alloc(100_000));
	});
	expect((await valueOf(received)) - hadReceived).toBeGreaterThan(100_000);
	expect((await valueOf(sent)) - hadSent).toBeGreaterThan(100);
});

it("D40: how long webhooks are overdue", async () => {
	const receiver = createServer((req, res) => void req.resume().on("end", () => res.writeHead(500).end()));
	await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
	const { port } = receiver.address() as AddressInfo;
	const overdue = async (): Promise<number | undefined> =>
		(await scraped()).samples.get('sluice_webhooks_overdue_seconds{endpoint="hooks"}');
	expect(await overdue()).toBeUndefined();
	const failed = service.next("webhook.failed");
	const id = await submitted(service, "hooks", { input: {}, webhook: `http://127.0.0.1:${port}` });
	await call(service.url, `/v2/hooks/cancel/${id}`, { method: "POST" });
	await failed;
	expect(await overdue()).toBe(0);
	const { webhooks } = service.engine.kernel.store;
	const { pending } = webhooks;
	webhooks.pending = async (q) =>
		(await pending(q)).map((each) => ({ ...each, oldestDueAt: service.engine.now() - 90_000 }));
	expect(await overdue()).toBe(90);
	webhooks.pending = pending;
	receiver.close();
});

it("D40: health of endpoints, leases, and what the store measures", async () => {
	const { samples } = await scraped();
	const health = ["crashing", "no_workers", "hindered", "paused", "healthy"].map((state) =>
		samples.get(`sluice_endpoint_health{endpoint="b",state="${state}"}`),
	);
	expect(health).toEqual([0, 0, 0, 0, 1]);
	const leases = ["sweep", "removal", "deliveries"].map((role) => samples.get(`sluice_leases_held{role="${role}"}`));
	expect([leases, samples.get("sluice_servers")]).toEqual([[1, 1, 1], 1]);
	const commits = samples.get("sluice_store_commit_seconds_count")!;
	expect(commits).toBeGreaterThan(5);
	expect(samples.get("sluice_store_commit_operations_sum")).toBeGreaterThanOrEqual(commits);
	expect(samples.get("nodejs_eventloop_active_seconds_total")).toBeGreaterThan(0);
	const own = ON_POSTGRES
		? ['sluice_store_statements_pending{connection="jobs"}', "sluice_store_lock_timeouts_total"]
		: ['sluice_store_file_bytes{file="wal"}', "sluice_store_disk_free_bytes"];
	const others = ON_POSTGRES ? "sluice_store_disk_free_bytes" : "sluice_clock_offset_seconds";
	expect([own.every((name) => samples.has(name)), samples.has(others)]).toEqual([true, false]);
	if (ON_POSTGRES) expect(samples.has("sluice_clock_offset_seconds")).toBe(true);
});

it("D30: it needs a key, and a limited one sees its endpoints only", async () => {
	expectError(await operatorless("/metrics"), 401, "unauthorized");
	const { key } = await keyWith(service, ["read"], ["b"]);
	const { text } = await scraped(key);
	expect([text.includes('endpoint="b"'), text.includes('endpoint="a"')]).toEqual([true, false]);
});

it("D40: while the store is unavailable it returns what this server knows", async () => {
	const { snapshots } = service.engine.metrics;
	service.engine.metrics.snapshots = () => Promise.reject(new StoreUnavailable("unreachable", "stopped"));
	try {
		const { samples } = await scraped();
		expect([
			samples.get("sluice_store_up"),
			samples.get('sluice_jobs_submitted_total{endpoint="a"}'),
			samples.has('sluice_jobs{endpoint="a",state="IN_QUEUE"}'),
		]).toEqual([0, 3, false]);
	} finally {
		service.engine.metrics.snapshots = snapshots;
	}
});

it("D40: a slow store is waited for at most half as long as the collector waits", async () => {
	const { snapshots } = service.engine.metrics;
	// What the calls before have used of the key's processing time.
	await clock.advance(60_000);
	const asked = Promise.withResolvers<void>();
	service.engine.metrics.snapshots = () => {
		asked.resolve();
		return new Promise(() => {});
	};
	try {
		const answer = scraped(KEY, { "x-prometheus-scrape-timeout-seconds": "4" });
		await asked.promise;
		await clock.advance(2000);
		const { samples } = await answer;
		expect([
			samples.get("sluice_store_up"),
			samples.get('sluice_jobs_submitted_total{endpoint="a"}'),
			samples.has('sluice_jobs{endpoint="a",state="IN_QUEUE"}'),
		]).toEqual([1, 3, false]);
		// Nor is the key charged for the wait: the next call does not wait.
		service.engine.metrics.snapshots = snapshots;
		await scraped();
	} finally {
		service.engine.metrics.snapshots = snapshots;
		await clock.advance(2000);
	}
});

it("D40: a store that can be read but not written is not up", async () => {
	const { isStoreAvailable } = service.engine;
	service.engine.isStoreAvailable = () => false;
	try {
		const { samples } = await scraped();
		expect([samples.get("sluice_store_up"), samples.has('sluice_jobs{endpoint="a",state="IN_QUEUE"}')]).toEqual([
			0,
			true,
		]);
	} finally {
		service.engine.isStoreAvailable = isStoreAvailable;
	}
});

it("D40: what was counted of an endpoint that was deleted is reported no more", async () => {
	await operator(service).post("/endpoints", { id: "deleted" });
	await submitted(service, "deleted");
	expect((await scraped()).samples.get('sluice_jobs_submitted_total{endpoint="deleted"}')).toBe(1);
	await operator(service).remove("/endpoints/deleted");
	expect((await scraped()).text).not.toContain("deleted");
});

/** An answer to a request without a key. */
async function operatorless(path: string): Promise<{ status: number; text: string }> {
	const response = await fetch(service.url + path);
	return { status: response.status, text: await response.text() };
}
