/**
 * One schedule: clients, workers and a server on simulated machines, while the faults of the schedule
 * happen; then everything settles, the server is killed again, and the history is judged.
 */
import { STEP_MS } from "../../src/kernel/engine/availability/clock/clock-measurement.ts";
import type { Random } from "../../src/kernel/lib/ids.ts";
import { stringOf } from "../../src/kernel/lib/json/json-text.ts";
import type { SignedPost, PostAnswer } from "../../src/kernel/post/contract.ts";
import { checker } from "../torture/checker/checker.ts";
import type { Violation } from "../torture/checker/job-history.ts";
import type { Op } from "../torture/history.ts";
import { random as randomOf } from "../torture/plan.ts";
import { deliveries } from "../torture/receiver.ts";
import { tracker as track } from "../torture/tracker.ts";
import { live, work, type WorkerOptions } from "../torture/worker.ts";
import { startClients } from "./clients.ts";
import type { SimulatedDatabase } from "./database.ts";
import { platform } from "./launcher.ts";
import { Network } from "./network.ts";
import { Process } from "./process.ts";
import { pauseOf, type Release } from "./machine.ts";
import { rest as workersRest, REST_MS } from "./rest.ts";
import { endpointOf, type Fault, type Participants, type Schedule } from "./schedule.ts";
import { type Plant, type SimulatedServer, startServer } from "./server.ts";
import { settle, SETTLE_MS } from "./settle.ts";
import { simulatedStore } from "./store.ts";
import { watchHandOuts, watchTurns } from "./turns.ts";
import { warmingUp } from "./warm-up.ts";
import { COUNTED, handedOutFault, watchRollouts } from "./worker-rules.ts";
import { World } from "./world.ts";

export interface Simulated {
	acknowledged: number;
	operations: number;
	events: number;
	/** Simulated time, ms. */
	ms: number;
	/** How often the server was started after its first time. */
	restarts: number;
	/** How often what happened, of `COUNTED`. */
	happened: Readonly<Record<string, number>>;
	violations: readonly Violation[];
}

export interface SimulateOptions {
	database: SimulatedDatabase;
	plant?: Plant;
	record?: (op: Op) => void;
}

/** Longest simulated time until clients have finished, ms. */
const CLIENTS_MS = 1_200_000;

/** Of a commit usually, ms. */
const COMMIT_MS = 3;

/** Actions of the server in which a crash is placed; fewer while it starts. */
const [ACTIONS, START_ACTIONS] = [40, 25];

const RESTART_MS = 300;

/** Until an operator tries again what was refused, ms. */
const RELEASE_AGAIN_MS = 500;

/** A server has stored the time of day after a step, also to a slow disk. */
const STEP_STORED_MS = 5000;

/** Must not be called by the callback of a promise. */
export function simulate(schedule: Schedule, o: SimulateOptions): Simulated {
	const { database, plant = {} } = o;
	database.clear();
	const world = new World();
	const { time } = world;
	const rest = (name: string): (() => number) => randomOf(schedule.seed ^ hashOf(name));
	const chance = rest("server");
	const checked = checker();
	let isJudged = false;
	const tracker = track((op) => {
		// What ends with the simulation is no part of it.
		if (isJudged) return;
		o.record?.(op);
		checked.add(op);
	}, time.now);
	const found: Violation[] = [];
	const broken = (rule: string, what: string): void => void found.push({ rule, what, lines: [] });
	const happened: Record<string, number> = {};
	const endpoints = schedule.participants.map((each) => endpointOf(each));
	/** Those whose jobs must be handed out at once (`turns.ts`). */
	const handingOut = new Set(endpoints.map(({ settings }) => settings.id));
	for (const { terms } of endpoints) tracker.record(terms);

	let server: SimulatedServer | undefined;
	let restarts = -1;
	let downMs = RESTART_MS;
	let dyingStarts = 0;
	let slowMs = 0;
	let crashedAt: { from: number; what: string } | undefined;
	/** The server is going to end, or has not started again. */
	let isDying = false;
	let steppedAt = -Infinity;
	const network = new Network({ world, random: rest("network"), server: () => server! });
	const { api } = network;
	const deliver = deliveries(tracker, rest("receiver"), time.now);
	const workerOptions = (endpoint: Participants, random: () => number): WorkerOptions => ({
		...endpoint,
		api,
		time,
		token: "",
		tracker,
		random,
		nextRun: () => (runs += 1),
	});
	let runs = 0;
	/** When a worker of each endpoint was last started. */
	const startedAt = new Map<string, number>();
	const machines = platform({
		world,
		random: rest("platform"),
		machine: schedule.machine,
		overbooked: (what) => broken("gpus-promised-once", what),
		program({ id, endpoint }, signal) {
			const options = workerOptions(schedule.participants.find((each) => each.endpoint === endpoint)!, rest(id));
			const warmUp = { random: rest(`warm-up of ${id}`), sleep: time.sleep };
			return live(id, { ...options, api: warmingUp(api, warmUp) }, signal);
		},
		started(endpoint, alive) {
			const at = time.now();
			startedAt.set(endpoint, at);
			const op = { op: "launched", by: "platform", endpoint, alive, result: "ok" } as const;
			tracker.record({ ...op, from: at, to: at });
		},
	});

	function sendFrom(process: Process): SignedPost {
		return ({ id, body, signal }) =>
			new Promise<PostAnswer>((resolve, reject) => {
				signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
				if (!process.act()) return;
				const broken = { error: "the connection broke" };
				const answered = (answer: PostAnswer): void => void process.after(network.delay(), () => resolve(answer));
				world.after(network.delay(), () => {
					if (network.isLost()) return answered(broken);
					const sent = { delivery: id, body: JSON.parse(stringOf(body)), from: time.now() };
					const status = deliver(sent);
					answered(status === 0 || network.isLost() ? broken : { status });
				});
			});
	}

	/** Starts the server, and again after each end of its process. */
	function boot(): void {
		restarts += 1;
		const process = new Process(world);
		const random = rest(`run ${restarts}`);
		const times = {
			commitMs: () => random() * (random() < 0.05 ? COMMIT_MS * 20 : COMMIT_MS) + random() * slowMs,
			messageMs: () => random() * 0.2,
		};
		process.onEnd(() => {
			crashedAt ??= { from: time.now(), what: "crash" };
			world.after(downMs, boot);
		});
		if (dyingStarts > 0) {
			dyingStarts -= 1;
			process.killAt(Math.floor(random() * START_ACTIONS), random() < 0.5);
		}
		const store = simulatedStore({ process, database, times, ...(plant.unit && { plant: plant.unit }) });
		const started = startServer({
			process,
			store,
			launcher: machines.launcherFor(process),
			sendWebhook: sendFrom(process),
			random: bytesOf(random),
			endpoints: endpoints.map(({ settings }) => settings),
			gpus: schedule.machine?.gpus ?? 0,
			plant,
			onBug(where, error) {
				broken(
					"internal-error",
					`${where}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
				);
			},
			made(engine, events) {
				watchRollouts({ events, engine }, (what) => broken("rollout-keeps-one", what));
				void watchHandOuts({ events, engine, store, process }, handingOut, (what) => broken("handed-out", what));
				events.onAny((name) => {
					if (COUNTED.includes(name)) happened[name] = (happened[name] ?? 0) + 1;
				});
			},
			answered(request, reply) {
				const fault = handedOutFault(request, reply, { get: machines.get, process });
				if (fault) broken("no-job-while-leaving", fault);
			},
		});
		server = started;
		void started.ready.then(() => {
			// It may have ended while it started.
			if (!process.alive) return;
			if (crashedAt) fault(crashedAt.what, crashedAt.from);
			crashedAt = undefined;
			isDying = false;
		});
	}

	function fault(what: string, from: number): void {
		tracker.record({ op: "fault", by: "faults", what, result: "ok", from, to: time.now() });
	}

	function crash({ ms, chance: at }: Pick<Fault, "ms" | "chance">): void {
		world.after(Math.max(0, steppedAt + STEP_STORED_MS - time.now()), () => {
			isDying = true;
			downMs = RESTART_MS + ms;
			server!.process.killAt(Math.floor(at * ACTIONS), chance() < 0.5);
		});
	}

	/** While a server runs: a step that it does not notice counts as downtime (D16). */
	function step(ms: number): void {
		if (isDying || crashedAt) return void world.after(100, () => step(ms));
		// A smaller one is followed, as a correction of the clock.
		world.wallAhead += Math.sign(ms) * Math.max(Math.abs(ms), STEP_MS + 1);
		steppedAt = time.now();
		fault("step", steppedAt);
	}

	/** For so long; then it is recorded. */
	function during({ kind, ms }: Fault, begin: () => void, end: () => void): void {
		const from = time.now();
		begin();
		world.after(ms, () => {
			end();
			fault(kind, from);
		});
	}

	function happen(each: Fault): void {
		const { kind, ms } = each;
		switch (kind) {
			case "crash":
			case "crash-twice":
				if (kind === "crash-twice") dyingStarts = 1 + Math.floor(each.chance * 2);
				return crash(each);
			case "pause":
			case "suspend":
				return during(
					each,
					() => server!.process.pause(ms, { suspend: kind === "suspend" }),
					() => {},
				);
			case "step":
				return step(each.chance < 0.5 ? ms : -ms);
			case "loss":
			case "partition":
				return during(
					each,
					() => {
						network.loss = kind === "loss" ? 0.1 + each.chance * 0.5 : 1;
						network.breakConnections();
					},
					() => (network.loss = 0),
				);
			case "slow":
				return during(
					each,
					() => (slowMs = 1500 * each.chance),
					() => (slowMs = 0),
				);
			case "full":
			case "moved": {
				const part = 0.02 + each.chance * each.chance;
				const fails = (): boolean => chance() < part;
				const never = (): boolean => false;
				const healthy = database.faults;
				return during(
					each,
					() =>
						(database.faults =
							kind === "full" ? { failsNext: fails, isMoved: never } : { failsNext: never, isMoved: fails }),
					() => (database.faults = healthy),
				);
			}
			case "client":
				return leavers[Math.floor(each.chance * leavers.length)]?.();
		}
	}

	let releasesLeft = schedule.releases.length;

	/** In the file of the service, which the next start reads, and at the one that runs. */
	function release({ endpoint, ...version }: Release): void {
		const index = schedule.participants.findIndex((each) => each.endpoint === endpoint);
		const { settings, terms } = endpointOf(schedule.participants[index]!, version);
		endpoints[index] = { settings, terms };
		releasesLeft -= 1;
		const apply = (): void => {
			const { process, listens, engine } = server!;
			// A newer version came, or the file will be read.
			if (endpoints[index]!.settings !== settings || !listens()) return;
			const again = (): void => void process.after(RELEASE_AGAIN_MS, apply);
			const env = { BROKEN: null, ...settings.env };
			process.after(0, () => void engine.endpoints.update(endpoint, { env }).catch(again));
		};
		apply();
	}

	boot();
	const working = new AbortController();
	const base = { seed: schedule.seed, api, time, tracker, receiver: "http://receiver/" };
	const leavers: (() => void)[] = [];
	const clients: Promise<void>[] = [];
	for (const each of schedule.participants) {
		const random = rest(`pauses at ${each.endpoint}`);
		const pace = each.needs && { pace: () => time.sleep(pauseOf(random)) };
		const started = startClients(each, schedule.jobs, { ...base, ...pace });
		leavers.push(...started.leavers);
		clients.push(...started.clients);
		for (let n = 0; n < each.workers; n += 1) {
			const name = `${each.endpoint}-worker-${n}`;
			void work(name, workerOptions(each, rest(name)), working.signal);
		}
	}
	let faultsLeft = schedule.faults.length;
	for (const each of schedule.faults)
		world.after(each.at, () => {
			happen(each);
			world.after(each.kind === "step" ? 0 : each.ms, () => (faultsLeft -= 1));
		});

	for (const each of schedule.releases) world.after(each.at, () => release(each));

	const launched = schedule.participants.filter((each) => each.needs).map(({ endpoint }) => endpoint);
	if (launched.length > 0)
		void watchTurns({ api, time, endpoints: launched, startedAt }, (what) => broken("turn", what), working.signal);

	let clientsLeft = clients.length;
	for (const client of clients) void client.then(() => (clientsLeft -= 1));
	const isOver = (): boolean => found.length > 0;
	const end = (stuck?: string): Simulated => {
		if (stuck !== undefined && !isOver()) found.push({ rule: "ends", what: `${stuck} did not end`, lines: [] });
		const violations = found.length > 0 ? found : checked.finish();
		isJudged = true;
		working.abort();
		machines.end();
		server?.process.kill();
		const ms = Math.round(time.now() - START);
		return { ...checked.counts, events: world.events, ms, restarts, happened, violations };
	};
	const START = time.now();
	if (!world.run(() => isOver() || clientsLeft + faultsLeft + releasesLeft === 0, CLIENTS_MS)) return end("clients");
	const settling = { api, time, tracker, endpoints: endpoints.map(({ settings }) => settings) };
	for (const again of [false, true]) {
		if (again) server!.process.kill();
		let settled = false;
		void settle(settling, again).then(() => (settled = true));
		if (!world.run(() => isOver() || settled, SETTLE_MS)) return end("jobs");
	}
	if (!schedule.machine) return end();
	let unrest = "";
	let rested = false;
	const now = () => ({ time, engine: server?.engine, store: server?.store, workers: machines.workers });
	void workersRest(now, (what) => (unrest = what)).then(() => (rested = true));
	if (!world.run(() => isOver() || rested, REST_MS)) broken("workers-rest", unrest);
	return end();
}

function bytesOf(random: () => number): Random {
	return (bytes) => Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256));
}

/** FNV-1a. */
function hashOf(text: string): number {
	let hash = 0x811c9dc5;
	for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
	return hash;
}
