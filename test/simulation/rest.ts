/** Once no job needs workers, none starts or leaves without end, and the store has those that live. */
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Time } from "../torture/time.ts";
import type { Running } from "./launcher.ts";

/** Longest simulated time until they rest, ms: pauses after crashes last up to a minute. */
export const REST_MS = 240_000;

/** Between two looks, ms: not a multiple of the times of the service. */
const LOOK_MS = 170;

interface Resting {
	time: Time;
	/** Undefined while the service starts. */
	engine: Engine | undefined;
	store: Store | undefined;
	workers: () => readonly Running[];
}

type Up = Resting & { engine: Engine; store: Store };

const runs = (o: Resting): o is Up => o.engine !== undefined && o.store !== undefined;

/** Resolves when they rest. `now`: what there is at each check. `unrest`: gets what is not so. */
export async function rest(now: () => Resting, unrest: (what: string) => void): Promise<void> {
	for (;;) {
		const o = now();
		const what = runs(o) ? (moving(o) ?? (await differing(o))) : "the service does not run";
		if (what === undefined) return;
		unrest(what);
		await o.time.sleep(LOOK_MS);
	}
}

/** What a worker still does. */
function moving({ engine: { workers } }: Up): string | undefined {
	for (const worker of workers.registry.all()) {
		if (!worker.managed) continue;
		if (workers.launcher.isLeaving(worker)) return `${worker.id} leaves`;
		if (!worker.ready) return `${worker.id} starts`;
		if (worker.sleep && worker.sleep.state !== "asleep") return `${worker.id} is ${worker.sleep.state}`;
	}
	return undefined;
}

/** Processes, workers of the registry, and rows of the store are the same. */
async function differing({ engine, store, workers }: Up): Promise<string | undefined> {
	const rows = (await store.workers.list()).map(({ id }) => id);
	const known = [...engine.workers.registry.all()].filter(({ managed }) => managed);
	const lists = {
		run: textOf(workers()),
		"are known": textOf(known),
		"are stored": textOf(rows.map((id) => ({ id }))),
	};
	if (new Set(Object.values(lists)).size === 1) return undefined;
	return Object.entries(lists)
		.map(([what, ids]) => `${ids || "none"} ${what}`)
		.join("; ");
}

function textOf(workers: readonly { id: string }[]): string {
	const ids: string[] = workers.map(({ id }) => id);
	return ids.toSorted().join(", ");
}
