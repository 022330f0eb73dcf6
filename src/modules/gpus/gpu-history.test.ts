/** Who had each GPU in the last hour (D27). */
import { expect, it } from "vitest";
import { eventBus } from "../../kernel/events.ts";
import { type Worker, workerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import { gpuHistory } from "./gpu-history.ts";
import { recordCalled } from "../../kernel/engine/workers/worker-transitions.ts";

const GPU = { host: "local", id: "0" };

function bed() {
	let at = 0;
	const held = new Set<Worker>();
	const registry = workerRegistry(eventBus());
	const history = gpuHistory({ now: () => at, held: () => [...held].map((worker) => ({ ...GPU, worker })) });
	return {
		history,
		held,
		/** A sample each second, as the service takes them. */
		pass(seconds: number): void {
			for (let step = 0; step < seconds; step += 1) {
				at += 1000;
				history.sample();
			}
		},
		worker(id: string, ready = true): Worker {
			const worker = registry.meet({ id, endpoint: `${id}s`, launcher: "process", ready, now: at });
			held.add(worker);
			return worker;
		},
		spans: () => history.of(GPU).map(({ worker, state, from, to }) => `${worker} ${state} ${from / 1000}-${to / 1000}`),
	};
}

const works = (worker: Worker): void => void worker.held.set("j", { attempt: 1, handedAt: 0 });

it("D27: a worker starts, is idle, works, ends; the next one has the GPU; two share it", () => {
	const { history, held, pass, worker, spans } = bed();
	const first = worker("a", false);
	pass(20);
	recordCalled(first, 20_000);
	pass(15);
	works(first);
	pass(30);
	held.delete(first);
	pass(5);
	worker("b");
	const third = worker("c");
	pass(10);
	works(third);
	pass(2);
	expect(spans()).toEqual([
		"a starting 1-20",
		"a idle 20-35",
		"a busy 35-65",
		"b idle 71-82",
		"c idle 71-80",
		"c busy 80-82",
	]);
	expect(history.of(GPU)[0]).toMatchObject({ endpoint: "as" });
	expect(history.of({ host: "local", id: "1" })).toEqual([]);
});

it("D27: pauses of less than 10 s between jobs count as busy, longer ones do not", () => {
	const { pass, worker, spans } = bed();
	const only = worker("a");
	for (const pause of [9, 9, 10]) {
		works(only);
		pass(5);
		only.held.delete("j");
		pass(pause);
	}
	works(only);
	pass(1);
	expect(spans()).toEqual(["a busy 1-33", "a idle 33-43", "a busy 43-44"]);
});

it("D27: spans are kept for an hour, at most the 1,000 newest of a GPU", () => {
	const { history, held, pass, worker } = bed();
	const first = worker("a");
	pass(1);
	held.delete(first);
	pass(3599);
	expect(history.of(GPU)).toHaveLength(1);
	pass(1);
	expect(history.of(GPU)).toEqual([]);
	for (let count = 0; count < 1005; count += 1) {
		const next = worker(`w${count}`);
		pass(1);
		held.delete(next);
	}
	expect(history.of(GPU)).toHaveLength(1000);
	expect(history.of(GPU)[0]!.worker).toBe("w5");
});
