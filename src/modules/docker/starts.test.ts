/** Which of the workers that wait for a place on Docker hosts starts first (D28, D44). */
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Priority } from "../../kernel/core/workers/priority.ts";
import type { DockerHost } from "./hosts/host.ts";
import { Starts } from "./starts.ts";
import { type Spec, Worker } from "./worker.ts";

it("D28, D44: a free place goes to the highest priority, then to who waited longest without one", async () => {
	const clock = manualClock();
	const host = given<DockerHost>({ name: "rig", pulls: { mustPull: () => Promise.resolve(true) } });
	const workers = new Map<string, Worker>();
	const started: string[] = [];
	let places = 0;
	const starts = new Starts(
		given({
			clock,
			workers,
			hosts: {
				ready: () => Promise.resolve({ gpus: Promise.resolve() }),
				get: () => host,
				place: () => (places > started.length ? { host: "rig", gpus: ["GPU-0"] } : { reason: "taken" }),
			},
			onNotice: () => {},
			onHandle: ({ id }: Worker) => void started.push(id),
			onRunning: () => {},
			onEnd: () => {},
		}),
	);
	async function waits(endpoint: string, number: number, priority: Priority = "normal"): Promise<void> {
		const id = `${endpoint}-${String(number).padStart(12, "0")}`;
		const spec = given<Spec>({ workerId: id, endpoint, priority, gpuCount: 1, settings: { hosts: "all" } });
		const worker = new Worker(id, { spec });
		workers.set(id, worker);
		await starts.start(worker, spec);
		await clock.advance(1000);
	}
	await waits("low", 1, "low");
	await waits("flood", 1);
	places = 1;
	starts.startWaiting();
	expect(started).toEqual(["flood-000000000001"]);
	await waits("flood", 2);
	await waits("other", 1);
	await waits("high", 1, "high");
	starts.notePlace(workers.get(started[0]!)!);
	workers.delete(started[0]!);
	for (places of [2, 3, 4, 5]) starts.startWaiting();
	expect(started.slice(1).map((id) => id.split("-")[0])).toEqual(["high", "other", "flood", "low"]);
});
