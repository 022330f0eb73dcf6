/** Workers of an earlier run whose start was not recorded before a crash (D34). */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { eventBus } from "../../../events.ts";
import type { Launcher } from "../../../launchers/launcher.ts";
import { TakeOver } from "./take-over.ts";
import { workerRegistry } from "../worker-registry.ts";

it("D16: a worker without a recorded start gets no job, and loses its jobs only after it was ended", async () => {
	const events = eventBus();
	const registry = workerRegistry(events);
	const order: string[] = [];
	const row = { id: "e-1", endpoint: "e", launcher: "process", url: "http://own", server: "s" };
	const launcher = {
		adopt: () => Promise.resolve(true),
		removeStrays() {
			order.push("ended", `draining: ${registry.get(row)?.draining}`);
			return Promise.resolve(1);
		},
	};
	const address = { url: "http://own", serviceId: "s" };
	const others = new TakeOver(
		given({
			now: () => 1,
			events,
			registry,
			store: { workers: { list: () => Promise.resolve([{ ...row, createdAt: 0 }]) } },
			launchers: new Map([["process", launcher as unknown as Launcher]]),
			address: Promise.resolve({ own: address, shared: address }),
			cluster: { id: "s", shared: false, scales: () => true },
			endpoints: { all: () => [], has: () => true },
			workerLogs: { extent: () => Promise.resolve(undefined) },
			exited({ workerId }: { workerId: string }) {
				order.push(`lost ${workerId}`);
				return Promise.resolve();
			},
		}),
	);
	await others.restore();
	expect(order).toEqual(["ended", "draining: true", "lost e-1"]);
});
