/** A simulated server: the engine as `compose.ts` builds it, without sockets, files and containers. */
import { budgetLimits, budgetMeters } from "../../src/kernel/core/budgets.ts";
import type { Endpoint } from "../../src/kernel/core/endpoints/endpoint.ts";
import { createEngine, type Engine } from "../../src/kernel/engine/engine.ts";
import { type EventBus, eventBus } from "../../src/kernel/events.ts";
import { type Launcher, PlatformUnavailable, type WorkerLogs } from "../../src/kernel/launchers/launcher.ts";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import type { SignedPost } from "../../src/kernel/post/contract.ts";
import { RecentLines } from "../../src/kernel/system/recent-lines.ts";
import { openGpus } from "../../src/modules/gpus/open.ts";
import { openReleases } from "../../src/modules/releases/open.ts";
import { openWebhooks } from "../../src/modules/webhooks/open.ts";
import type { UnitOfWork } from "../../src/kernel/store/sqlite/rows/unit-of-work.ts";
import { answer } from "./front.ts";
import type { Listener, Reply, Request } from "./network.ts";
import type { Process } from "./process.ts";

/** Nobody reads the output of simulated workers. */
const NO_LOGS: WorkerLogs = {
	read: () => Promise.resolve(undefined),
	extent: () => Promise.resolve(undefined),
	list: () => Promise.resolve([]),
	lastOutput: () => Promise.resolve(""),
	marks: { watch() {}, hold() {}, end() {}, close: () => Promise.resolve() },
} as unknown as WorkerLogs;

const URL = "http://simulated";

/** Changes a part of the server, to plant a bug. */
export interface Plant {
	store?: (store: Store) => { [Group in keyof Store]?: Partial<Store[Group]> };
	engine?: (engine: Engine) => Engine;
	launcher?: (launcher: Launcher) => Launcher;
	/** Of the database thread. */
	unit?: (unit: UnitOfWork) => UnitOfWork;
}

export interface ServerOptions {
	process: Process;
	store: Store;
	launcher: Launcher;
	sendWebhook: SignedPost;
	random: (bytes: number) => Uint8Array;
	endpoints: readonly Endpoint[];
	/** Of the machine. */
	gpus: number;
	plant: Plant;
	/** An error that is no answer, and no outage of the store or the platform. */
	onBug: (where: string, error: unknown) => void;
	/** The engine is made, and has not begun. */
	made: (engine: Engine, events: EventBus) => void;
	/** A request has its answer, which is to be sent. */
	answered: (request: Request, reply: Reply) => void;
}

export interface SimulatedServer extends Listener {
	/** Resolves when it listens; never if it dies before. */
	readonly ready: Promise<void>;
	readonly store: Store;
	/** After it has begun to listen. */
	readonly engine: Engine;
}

export function startServer(o: ServerOptions): SimulatedServer {
	const { process, plant, onBug } = o;
	const events = eventBus();
	events.on("fault", ({ where, error }) => failed(error, where));
	const store = planted(o.store, plant.store?.(o.store) ?? {});
	let listens = false;
	let engine: Engine | undefined;

	function failed(error: unknown, where = "a request"): void {
		const isExpected = error instanceof StoreUnavailable || error instanceof PlatformUnavailable;
		if (process.alive && !isExpected) onBug(where, error);
	}

	async function start(): Promise<void> {
		const made = createEngine({
			store,
			clock: process.clock,
			random: o.random,
			events,
			budgets: budgetMeters(budgetLimits({ reservedDisk: 0 })),
			launchers: new Map([["process", plant.launcher?.(o.launcher) ?? o.launcher]]),
			workerLogs: NO_LOGS,
			sealKeys: { ring: [new Uint8Array(32)], checks: { opened: "", used: "", alone: "" } },
			storeId: await store.identity(),
			gpus: o.gpus,
		});
		engine = plant.engine?.(made) ?? made;
		o.made(made, events);
		await made.prepare(o.endpoints);
		const kernel = {
			...made.kernel,
			post: () => o.sendWebhook,
			allowPrivateNetworks: true,
			publicUrl: undefined,
			siteFolder: () => "",
			families: async () => [],
			log: new RecentLines(process.clock),
			workerLogs: NO_LOGS,
		};
		const { services = [] } = await openWebhooks(kernel);
		for (const open of [openReleases, openGpus]) Object.assign(made.hooks, (await open(kernel)).hooks);
		listens = true;
		await made.start({ url: URL, sharedUrl: URL, services });
	}

	return {
		process,
		listens: () => process.alive && listens,
		// A start that the store refuses ends the process, which is started again.
		ready: start().catch((error: unknown) => {
			failed(error, "the start");
			process.kill();
		}),
		async answer(request, connection) {
			const reply = await answer(engine!, request, connection, (error) => failed(error, request.path.join("/")));
			o.answered(request, reply);
			return reply;
		},
		failed,
		store,
		get engine() {
			return engine!;
		},
	};
}

/** The store with these operations instead of its own. */
function planted(store: Store, changes: Record<string, unknown>): Store {
	const groups = Object.entries(changes).map(([group, operations]) => [
		group,
		{ ...(store[group as keyof Store] as object), ...(operations as object) },
	]);
	return { ...store, ...Object.fromEntries(groups) } as Store;
}
