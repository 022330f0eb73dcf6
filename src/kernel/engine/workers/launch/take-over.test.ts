/** Workers of an earlier run whose start was not recorded before a crash (D34). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { Endpoint } from "../../../core/endpoints/endpoint.ts";
import { given } from "../../../../../test/support/given.ts";
import { eventBus } from "../../../events.ts";
import type { Launcher } from "../../../launchers/launcher.ts";
import { encryption } from "../../../secrets/encryption.ts";
import type { WorkerRow } from "../../../store/contract/workers.ts";
import { hiddenMember } from "./shown-text.ts";
import { ASLEEP_SINCE, gpuMembers, TakeOver, UNSURE } from "./take-over.ts";
import { holdsGpus, type Worker, workerRegistry } from "../worker-registry.ts";

const ENCRYPTION = encryption([randomBytes(32)], randomBytes);
const ADDRESS = { url: "http://own", serviceId: "s" };

/** Workers of an earlier run, as `rows` of the store, on such a launcher. */
function takeOver(rows: readonly Partial<WorkerRow>[], launcher: Partial<Launcher>, q: object = {}) {
	const events = eventBus();
	const registry = workerRegistry(events);
	const others = new TakeOver(
		given({
			now: () => 1,
			events,
			registry,
			store: { workers: { list: () => Promise.resolve(rows.map((row) => ({ ...ROW, ...row, createdAt: 0 }))) } },
			launchers: new Map([["process", launcher as Launcher]]),
			address: Promise.resolve({ own: ADDRESS, shared: ADDRESS }),
			cluster: { id: "s", shared: false, scales: () => true },
			endpoints: { all: () => [], has: () => true, get: () => given<Endpoint>({ env: {} }) },
			access: { encryption: ENCRYPTION },
			workerLogs: { lastOutput: () => Promise.resolve("") },
			...q,
		}),
	);
	return { registry, others };
}

const ROW = { id: "e-1", endpoint: "e", launcher: "process", url: "http://own", server: "s" };

it("D16: a worker without a recorded start gets no job, and loses its jobs only after it was ended", async () => {
	const order: string[] = [];
	const launcher = {
		adopt: () => Promise.resolve(true),
		removeStrays() {
			order.push("ended", `draining: ${registry.get(ROW)?.draining}`);
			return Promise.resolve(1);
		},
	};
	const exited = ({ workerId }: { workerId: string }) => {
		order.push(`lost ${workerId}`);
		return Promise.resolve();
	};
	const { registry, others } = takeOver([{}], launcher, { exited });
	await others.restore();
	expect(order).toEqual(["ended", "draining: true", "lost e-1"]);
});

it("D34: a worker that another service has started is not touched; of earlier versions all are asked for", async () => {
	const asked: unknown[][] = [];
	const launcher = {
		adopt(...q: unknown[]) {
			asked.push(q);
			return Promise.resolve(true);
		},
		removeStrays: () => Promise.resolve(0),
	};
	const rows = ["original", "s", undefined].map((by, n) => ({
		id: `e-${n}`,
		handle: JSON.stringify({ pid: n, ...(by !== undefined && { sluiceService: by }) }),
	}));
	const ends: string[] = [];
	const exited = ({ workerId }: { workerId: string }) => {
		ends.push(`${workerId}: ${registry.get({ endpoint: "e", id: workerId })?.ending?.text}`);
		return Promise.resolve();
	};
	const { registry, others } = takeOver(rows, launcher, { exited });
	await others.restore();
	expect(asked).toMatchObject([
		["e-1", { pid: 1 }, "s"],
		["e-2", { pid: 2 }, "s"],
	]);
	expect(ends).toEqual(["e-0: another service has started it"]);
});

it.each([
	["goes on where it slept", 5, { readyAt: 5, sleep: { state: "asleep", since: 5 } }, []],
	["is awake without a note", undefined, { ready: true }, []],
	[
		"is ended where it was asked to sleep or to wake up",
		UNSURE,
		{},
		["the service ended while it fell asleep or woke up"],
	],
])("D28: a worker that is taken over %s", async (_, since, state, stops) => {
	const handle = JSON.stringify({ pid: 1, ...(since !== undefined && { [ASLEEP_SINCE]: since }) });
	const launcher = { adopt: () => Promise.resolve(true), removeStrays: () => Promise.resolve(0) };
	const asked: string[] = [];
	const stop = (worker: Worker, { why, graceMs }: { why: string; graceMs: number }) => {
		expect([worker.gpus, graceMs], "it has its GPUs until its end").toEqual([[1], 0]);
		asked.push(why);
		return Promise.resolve();
	};
	const { registry, others } = takeOver([{ handle: handle.replace("}", ',"sluiceGpus":"1"}') }], launcher, { stop });
	await others.restore();
	expect(registry.get(ROW)).toMatchObject(state);
	expect(holdsGpus(registry.get(ROW)!)).toBe(since !== 5);
	expect(asked).toEqual(stops);
});

it.each([{ gpus: [0, 2], gpuMemoryGb: 10.5 }, { gpus: [1] }, { gpus: [] }])(
	"D27: a worker that is taken over has the GPUs that its handle has: %j",
	async (held) => {
		const handle = JSON.stringify({ pid: 1, ...gpuMembers(held) });
		const launcher = { adopt: () => Promise.resolve(true), removeStrays: () => Promise.resolve(0) };
		const { registry, others } = takeOver([{ handle }], launcher);
		await others.restore();
		expect(registry.get(ROW)).toMatchObject(held);
	},
);

it.each([true, false])(
	"D22, D47: what it was started with is known of a worker that is taken over: %s",
	async (lives) => {
		const launcher = { adopt: () => Promise.resolve(lives), removeStrays: () => Promise.resolve(0) };
		const rows = [{}, hiddenMember({ TOKEN: "of before" }, ENCRYPTION)].map((member, n) => ({
			id: `e-${n}`,
			handle: JSON.stringify({ pid: 1, ...member }),
		}));
		const ended: string[] = [];
		const exited = ({ workerId }: { workerId: string }) => Promise.resolve(void ended.push(workerId));
		const { registry, others } = takeOver(rows, launcher, { exited });
		await others.restore();
		expect(ended).toEqual(lives ? [] : ["e-0", "e-1"]);
		const hidden = rows.map(({ id }) => registry.get({ endpoint: "e", id })?.hidden);
		expect(hidden, "an earlier version has stored none").toEqual([undefined, { TOKEN: "of before" }]);
	},
);
