/** Starts that fail halfway (D34). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { given } from "../../../../../test/support/given.ts";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../events.ts";
import type { Launcher } from "../../../launchers/launcher.ts";
import { readEndpoint } from "../../../launchers/endpoint-settings.ts";
import { encryption } from "../../../secrets/encryption.ts";
import { WorkerLauncher } from "./launch.ts";
import { workerRegistry } from "../worker-registry.ts";

/** A launcher of processes whose `stop` fails while `isDeaf`; the handle of a start is stored unless `refuses`. */
function starting(q: { refuses?: "start" | "record" }) {
	const state = { isDeaf: true, puts: 0, removed: [] as string[], calls: [] as string[] };
	const events = eventBus();
	const registry = workerRegistry(events);
	const clock = manualClock();
	const launcher = given<Launcher>({
		onExit: () => {},
		start: () => (q.refuses === "start" ? Promise.reject(new Error("no such program")) : Promise.resolve({ pid: 1 })),
		setBusy: (_, busy) => void state.calls.push(`busy ${busy}`),
		stop: () => {
			state.calls.push("stop");
			return state.isDeaf ? Promise.reject(new Error("it survives")) : Promise.resolve();
		},
	});
	const address = { url: "http://own", serviceId: "s" };
	const workers = new WorkerLauncher(
		given({
			now: () => clock.now(),
			clock,
			random: (bytes: number) => Buffer.alloc(bytes),
			events,
			registry,
			store: {
				workers: {
					put: () =>
						q.refuses === "record" && (state.puts += 1) > 1
							? Promise.reject(new Error("the disk is full"))
							: Promise.resolve(),
					remove: ({ id }: { id: string }) => Promise.resolve(void state.removed.push(id)),
				},
			},
			launchers: new Map([["process", launcher]]),
			address: Promise.resolve({ own: address, shared: address }),
			cluster: { id: "s", shared: false, scales: () => true },
			access: {
				encryption: encryption([randomBytes(32)], randomBytes),
				tokens: { issue: () => Promise.resolve("t"), revoke: () => Promise.resolve() },
			},
			variables: async (env) => ({ env, hidden: env }),
			ended: { record: () => Promise.resolve() },
			gpuAddresses: (numbers: readonly number[]) => Promise.resolve([...numbers]),
		}),
	);
	const read = readEndpoint("e", { launcher: { type: "process", command: ["w"] }, gpusPerWorker: 1 });
	if (!read.ok) throw new Error("bad settings");
	return { state, registry, workers, start: () => workers.start(read.endpoint, { gpus: [0] }) };
}

it("D34: a worker that could be neither recorded nor stopped keeps its GPUs until it has been stopped", async () => {
	const { state, registry, workers, start } = starting({ refuses: "record" });
	await expect(start()).rejects.toThrow("the disk is full");
	const [worker] = registry.of("e");
	expect(worker).toMatchObject({ gpus: [0], draining: true, unstopped: { why: "its start failed" } });
	state.isDeaf = false;
	await workers.stop(worker!, { why: "its start failed", graceMs: 0 });
	expect([...registry.of("e")]).toEqual([]);
	expect(state.removed).toEqual([worker!.id]);
});

it("D34: a start that was refused leaves nothing behind, whatever its stop answers", async () => {
	const { registry, start } = starting({ refuses: "start" });
	await expect(start()).rejects.toThrow("no such program");
	expect([...registry.of("e")]).toEqual([]);
});

it("D18: a launcher knows before the stop that the worker has just got a job", async () => {
	const { state, registry, workers, start } = starting({});
	await start();
	const [worker] = registry.of("e");
	worker!.held.set("job", { attempt: 1, handedAt: 0 });
	state.isDeaf = false;
	await workers.stop(worker!, { why: "its mapping has changed", graceMs: 0 });
	expect(state.calls).toEqual(["busy true", "stop"]);
});
