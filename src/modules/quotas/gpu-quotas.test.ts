/** GPU seconds per day where several servers count, and when they are read (D43). */
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { eventBus } from "../../kernel/events.ts";
import { gpuQuotas } from "./gpu-quotas.ts";

const ENDPOINT = { id: "ep", gpusPerWorker: 1, limits: { gpuSecondsPerDay: 10 } } as Endpoint;

function bed() {
	const place = { at: 1_800_000_000_000, stored: 0, reads: 0, gate: Promise.resolve() };
	const events = eventBus();
	const now = () => place.at;
	const runTime = async (): Promise<number> => {
		const { stored } = place;
		place.reads += 1;
		await place.gate;
		return stored;
	};
	const quotas = gpuQuotas(given({ now, events, calendar: { now, of: now, jobTime: now }, runTime }));
	const ran = (ranMs: number): void =>
		events.emit("job.settled", { endpoint: "ep", id: "j", state: "COMPLETED", ranMs, worker: "w" });
	return { place, quotas, ran, refused: async () => (await quotas.refusal(ENDPOINT)) !== undefined };
}

it("D43: without a quota nothing is read or awaited", () => {
	const { place, quotas } = bed();
	expect(quotas.refusal({ ...ENDPOINT, limits: {} })).toBeUndefined();
	expect(quotas.refusal({ ...ENDPOINT, limits: "off" })).toBeUndefined();
	expect(place.reads).toBe(0);
});

it("D43: runs of this server count at once, those of others at the next read; many submissions read once", async () => {
	const { place, ran, refused } = bed();
	expect(await Promise.all([refused(), refused()])).toEqual([false, false]);
	expect(place.reads).toBe(1);
	ran(9999);
	expect(await refused()).toBe(false);
	ran(1);
	expect(await refused()).toBe(true);
	expect(place.reads).toBe(1);
	place.stored = 4000;
	place.at += 10_000;
	expect(await refused()).toBe(false);
	place.stored = 12_000;
	expect(await refused()).toBe(false);
	place.at += 10_000;
	expect(await refused()).toBe(true);
	expect(place.reads).toBe(3);
});

it("D43: a run that ends during a read counts; a failed read is repeated", async () => {
	const { place, ran, refused } = bed();
	const { promise, resolve } = Promise.withResolvers<void>();
	place.gate = promise;
	const first = refused();
	ran(10_000);
	resolve();
	expect(await first).toBe(true);
	const failing = Promise.withResolvers<void>();
	place.gate = failing.promise;
	place.at += 10_000;
	const second = refused();
	failing.reject(new Error("unavailable"));
	await expect(second).rejects.toThrow("unavailable");
	place.gate = Promise.resolve();
	expect(await refused()).toBe(false);
});
