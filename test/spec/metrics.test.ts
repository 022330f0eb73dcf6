/** `/metrics` for Prometheus (D40). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { StoreUnavailable } from "../../src/store/contract/store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { KEY, startService, type TestService } from "../support/service.ts";
import { endWith, expectError, handWorker, submitted } from "./hand-worker.ts";
import { keyWith, operator } from "./operator.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { a: {}, b: {} }, clock });
});
afterAll(() => endWith(service, clock));

/** The text, and its samples by name with labels. */
async function scraped(key = KEY): Promise<{ text: string; samples: Map<string, number> }> {
	const response = await fetch(`${service.url}/metrics`, {
		headers: { authorization: `Bearer ${key}` },
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
