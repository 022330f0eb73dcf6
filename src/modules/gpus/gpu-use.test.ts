/** GPU seconds by what workers do, and swaps (D40). */
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { eventBus } from "../../kernel/events.ts";
import { atMost, sizeOfHistogram } from "../../kernel/lib/histogram.ts";
import { workerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import { gpuUse } from "./gpu-use.ts";
import { setNotice } from "../../kernel/engine/workers/worker-transitions.ts";

const SETTINGS: Record<string, number> = { one: 1, two: 2, none: 0 };

function bed() {
	const clock = manualClock();
	const events = eventBus();
	const registry = workerRegistry(events);
	const endpoints = {
		has: (id: string) => id in SETTINGS,
		get: (id: string) => ({ gpusPerWorker: SETTINGS[id] }) as Endpoint,
	};
	const use = gpuUse(given({ clock, events, now: clock.now, endpoints, registry, held: () => [] }));
	use.service.start();
	const start = (endpoint: string, rest: object = {}) =>
		registry.meet({ id: `${endpoint}-w`, endpoint, launcher: "process", ready: false, now: clock.now(), ...rest });
	const seconds = (endpoint: string): object | undefined => {
		const { ms } = use.totals().get(endpoint) ?? {};
		return ms && Object.fromEntries(Object.entries(ms).map(([state, each]) => [state, each / 1000]));
	};
	return { clock, events, registry, use, start, seconds };
}

it("D40: GPUs times seconds of each state, of GPUs that Sluice assigned and of gpusPerWorker", async () => {
	const { clock, registry, use, start, seconds } = bed();
	const one = start("one", { gpus: [3] });
	const two = start("two", { launcher: "slurm" });
	start("none");
	registry.meet({ id: "x", endpoint: "two", ready: true, now: clock.now() });
	setNotice(two, { state: "waiting", code: "queued", message: "Resources." }, clock.now());
	await clock.advance(10_000);
	expect([seconds("one"), seconds("two")]).toEqual([{ busy: 0, idle: 0, starting: 10 }, undefined]);
	registry.seen(one, clock.now());
	setNotice(two, undefined, clock.now());
	await clock.advance(4000);
	one.held.set("j", { attempt: 1, handedAt: clock.now() });
	await clock.advance(2500);
	expect(seconds("one")).toEqual({ busy: 2.5, idle: 4, starting: 10 });
	expect(seconds("two")).toEqual({ busy: 0, idle: 0, starting: 13 });
	expect(seconds("none")).toBeUndefined();
	registry.forget(one);
	await clock.advance(5000);
	expect(seconds("one")).toEqual({ busy: 2.5, idle: 4, starting: 10 });
	await use.service.stop();
});

it("D40: workers stopped to make room, and the time until the first call of the one that has it", async () => {
	const { clock, events, registry, use, start } = bed();
	events.emit("room.made", { endpoint: "two", worker: "two-w", was: "idle" });
	events.emit("room.made", { endpoint: "two", worker: "two-v", was: "busy" });
	events.emit("room.made", { endpoint: "two", worker: "two-u", was: "busy" });
	expect(use.totals().get("two")!.madeRoom).toEqual({ idle: 1, busy: 2 });
	const roomSince = clock.now();
	await clock.advance(3000);
	const worker = start("one", { roomSince });
	await clock.advance(1000);
	registry.seen(worker, clock.now());
	registry.seen(start("none"), clock.now());
	const { swaps } = use.totals().get("one")!;
	expect([sizeOfHistogram(swaps), swaps.sum, atMost(swaps, 12), atMost(swaps, 11)]).toEqual([1, 4000, 1, 0]);
	expect(use.totals().has("none")).toBe(false);
	events.emit("endpoint.removed", { endpoint: "two" });
	expect(use.totals().has("two")).toBe(false);
	await use.service.stop();
});
