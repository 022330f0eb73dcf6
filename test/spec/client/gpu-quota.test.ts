/** GPU seconds of an endpoint per day (D43). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { folder, call, startService, type TestService } from "../../support/service.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { endWith, expectError, handWorker, submitted } from "../hand-worker.ts";

const DAY_MS = 86_400_000;
/** Ten minutes before midnight. */
const clock = manualClock(20_000 * DAY_MS + 23 * 3_600_000 + 50 * 60_000);
const place = folder();
let service: TestService;
const settings = { gpusPerWorker: 2, limits: { gpuSecondsPerDay: 100 }, leaseMs: 600_000 };
const start = async (): Promise<void> => {
	service = await startService({
		endpoints: { ep: settings, keyed: settings, free: { gpusPerWorker: 2 }, off: { ...settings, limits: "off" } },
		clock,
		in: place,
	});
};
beforeAll(start);
afterAll(async () => {
	await endWith(service, clock);
	place.remove();
});

const submit = (endpoint: string, headers: Record<string, string> = {}) =>
	call(service.url, `/v2/${endpoint}/run`, { body: { input: {} }, headers });

/** A job of the endpoint runs for so many seconds. */
async function runs(endpoint: string, seconds: number, at = service): Promise<void> {
	const worker = await handWorker(at, endpoint);
	const id = await submitted(at, endpoint);
	await worker.takeThis(id);
	await clock.advance(seconds * 1000);
	await worker.done(id, { output: 1 });
}

it("D43: beyond gpuSecondsPerDay jobs are refused until midnight UTC, after a restart too", async () => {
	await runs("ep", 30);
	const waits = await submitted(service, "ep");
	const worker = await handWorker(service, "ep");
	await worker.takeThis(waits);
	await clock.advance(19_500);
	const later = await submitted(service, "ep");
	await worker.done(waits, { output: 1 });
	expect((await submit("ep")).status, "99 of 100").toBe(200);
	await worker.takeThis(later);
	await clock.advance(500);
	await worker.done(later, { output: 1 });
	const answer = await submit("ep");
	const { error } = expectError(answer, 429, "gpu_quota_used");
	const end = Math.ceil(clock.now() / DAY_MS) * DAY_MS;
	expect(error).toContain("used 100 GPU seconds since midnight UTC; its limit, limits.gpuSecondsPerDay, is 100.");
	expect(error).toContain(`again at ${new Date(end).toISOString()}`);
	expect(Number(answer.headers.get("retry-after"))).toBe(Math.ceil((end - clock.now()) / 1000));
	for (const endpoint of ["free", "off"]) {
		await runs(endpoint, 60);
		expect((await submit(endpoint)).status).toBe(200);
	}

	await endWith(service, clock);
	await start();
	expectError(await submit("ep"), 429, "gpu_quota_used");
	await clock.advance(end - clock.now() - 1000);
	expectError(await submit("ep"), 429, "gpu_quota_used");
	await clock.advance(1000);
	expect((await submit("ep")).status).toBe(200);
});

it("D14, D43: a repeated submission gets its job, and raising the limit lets others in", async () => {
	const headers = { "idempotency-key": "once" };
	const { id } = (await submit("keyed", headers)).json;
	const worker = await handWorker(service, "keyed");
	await worker.takeThis(id);
	await clock.advance(60_000);
	await worker.done(id, { output: 1 });
	expectError(await submit("keyed"), 429, "gpu_quota_used");
	expectError(await submit("keyed", { "idempotency-key": "new" }), 429, "gpu_quota_used");
	expect((await submit("keyed", headers)).json.id).toBe(id);
	await call(service.url, "/v1/endpoints/keyed", { method: "PATCH", body: { limits: { gpuSecondsPerDay: 121 } } });
	expect((await submit("keyed", { "idempotency-key": "new" })).status).toBe(200);
});

it("D43: the first quota of a service holds as soon as it is stored, also for runs before it", async () => {
	const alone = await startService({ endpoints: { late: { gpusPerWorker: 2, leaseMs: 600_000 } }, clock });
	try {
		await runs("late", 5, alone);
		const body = { limits: { gpuSecondsPerDay: 10 } };
		await call(alone.url, "/v1/endpoints/late", { method: "PATCH", body });
		expectError(await call(alone.url, "/v2/late/run", { body: { input: {} } }), 429, "gpu_quota_used");
	} finally {
		await endWith(alone, clock);
	}
});
