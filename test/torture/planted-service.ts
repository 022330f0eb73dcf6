/** A service in this process whose store has a bug, and the rules that the checker finds broken. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MODULES } from "../../src/modules/index.ts";
import { startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus } from "../../src/kernel/events.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { openStore } from "../../src/kernel/stores.ts";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { KEY, folder } from "../support/service.ts";
import { ENDPOINTS } from "./endpoints.ts";
import type { EndpointName } from "./plan.ts";
import { SETTINGS } from "./site.ts";
import { torture } from "./torture.ts";

/** Longest time for a bug that shows in a job. */
const MS = 12_000;

/** Between two restarts, ms, at least and at most. */
const RESTARTS = [700, 1000] as const;

/** Part of the clients; more where a queue must fill, or all places of a worker. */
const [SCALE, SCALES] = [0.1, { queue: 4, plain: 1 } as Partial<Record<EndpointName, number>>];

/** A store with a bug, of what it would be. Called again at each start. */
export type Plant = (store: Store) => { [Group in keyof Store]?: Partial<Store[Group]> };

/** True at every `n`th call. */
export function every(n: number): () => boolean {
	let calls = 0;
	return () => (calls += 1) % n === 0;
}

export interface Use {
	/** {@link MS} by default. */
	ms?: number;
	/** Operators change endpoints, and the service is started again while they do. */
	operators?: number;
	/** Clients upload files. */
	files?: number;
	/** S3 clients store objects. */
	objects?: number;
	/** The service is started again meanwhile. */
	restarts?: boolean;
	/** Clients run batches, and the service is started again meanwhile. */
	batches?: number;
	/** Clients use background responses, as those do. */
	responses?: number;
}

/** Rules broken by a service with such a store. */
export async function rulesOf(plant: Plant, names: readonly EndpointName[], use: Use = {}): Promise<string[]> {
	const { ms = MS, operators = 0, files = 0, objects = 0, batches = 0, responses = 0, restarts = false } = use;
	const place = folder();
	const config = join(place.path, "sluice.yaml");
	const file = JSON.stringify({ ...SETTINGS, endpoints: ENDPOINTS });
	writeFileSync(config, file);
	const loaded = loadConfig({
		modules: MODULES,
		flags: { config, port: "0", store: `sqlite:${join(place.path, "s.db")}`, "drain-timeout": "0" },
		env: { SLUICE_API_KEY: KEY },
		cwd: place.path,
		readFile: () => file,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const start = () =>
		startApp(loaded.config, {
			modules: MODULES,
			clock: systemClock,
			events: eventBus(),
			env: process.env,
			async open(q) {
				const store = await openStore(q);
				const planted = Object.entries(plant(store)).map(([group, operations]) => [
					group,
					{ ...(store[group as keyof Store] as object), ...(operations as object) },
				]);
				return { ...store, ...Object.fromEntries(planted) } as Store;
			},
		});
	let app = await start();
	async function fault(): Promise<string> {
		await app.stop();
		app = await start();
		return "a restart";
	}
	try {
		const scale = SCALES[names[0]!] ?? SCALE;
		const site = {
			urls: () => [app.url],
			end: () => Promise.resolve(),
			...((restarts || operators + batches + responses > 0) && { fault }),
		};
		const { violations } = await torture({
			site,
			seed: 1,
			ms,
			scale,
			names,
			operators,
			files,
			objects,
			batches,
			responses,
			pauses: RESTARTS,
		});
		return violations.map(({ rule }) => rule);
	} finally {
		await app.stop();
		place.remove();
	}
}
