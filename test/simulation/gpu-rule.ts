/** No part of a GPU is promised twice (D27). */
import { RESERVE_GB } from "../../src/kernel/core/workers/gpu-part.ts";
import type { Running } from "./launcher.ts";
import type { Machine } from "./machine.ts";

type Holder = Pick<Running, "id" | "gpus" | "gpuMemoryGb" | "isAwake">;

/** Returns what is wrong; undefined if each GPU has one worker, or parts that fit into it. */
export function gpuFault({ gpus, memoryGb }: Machine, workers: readonly Holder[]): string | undefined {
	for (let gpu = 0; gpu < gpus; gpu += 1) {
		const holders = workers.filter((each) => each.isAwake && each.gpus.includes(gpu));
		const sum = holders.reduce((all, { gpuMemoryGb = memoryGb - RESERVE_GB }) => all + gpuMemoryGb, 0);
		if (sum + RESERVE_GB > memoryGb) return `GPU ${gpu} of ${memoryGb} GB has ${holders.map(textOf).join(", ")}`;
	}
	const unknown = workers.find((each) => each.gpus.some((gpu) => gpu >= gpus));
	return unknown && `${unknown.id} has GPUs ${unknown.gpus.join(", ")}, and there are ${gpus}`;
}

function textOf({ id, gpuMemoryGb }: Holder): string {
	return `${id} (${gpuMemoryGb ?? "all"})`;
}
