/** Endpoints as operators change them (D27, D39): made, changed, paused, deleted. */
import type { Clock } from "../../clock.ts";
import { mergeSettings } from "../../core/endpoint.ts";
import type { Endpoint } from "../../core/endpoint.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import type { Fault } from "../../core/errors.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Dispatch } from "../jobs/dispatch.ts";
import { hex } from "../../ids.ts";
import type { Random } from "../../ids.ts";
import type { EndpointEntry, EndpointRegistry } from "./endpoint-registry.ts";
import type { Tokens } from "../access/worker-tokens.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";
import { readEndpoint } from "../../endpoint-settings.ts";

/** Jobs cancelled in one step of a deletion, so that others get their turn. */
const CANCEL_LIMIT = 500;

/** Time between two looks at what is being deleted, ms. */
const LOOK_MS = 1000;

/**
 * An unknown endpoint is looked for in the store so seldom, ms: another server may have just made
 * it.
 */
const SEEK_MS = 200;

interface Deps {
	clock: Clock;
	now: () => number;
	random: Random;
	events: EventBus;
	store: Pick<Store, "jobs" | "endpoints">;
	registry: EndpointRegistry;
	workers: WorkerRegistry;
	tokens: Pick<Tokens, "forget">;
	dispatch: Dispatch;
	/** Ends a launched worker of a deleted endpoint. */
	end: (worker: Worker) => void;
	/** Settings changed or handing out goes on: workers may be needed. */
	look: () => void;
	/**
	 * Of several servers one brings deletions to their end; each begins a change with what the others
	 * left.
	 */
	cluster: Pick<Cluster, "shared" | "leads">;
}

/**
 * What operators do with endpoints. Settings are as in `sluice.yaml`; a bad one throws
 * `bad_request` with every fault.
 */
export interface Endpoints {
	/** Makes an endpoint; without an id it gets a random one. Throws `endpoint_exists`. */
	create(settings: unknown): Promise<EndpointEntry>;
	/** Changes what `patch` names; null brings a default back. */
	update(id: string, patch: unknown): Promise<EndpointEntry>;
	pause(id: string, paused: boolean): Promise<EndpointEntry>;
	/**
	 * The endpoint is unknown at once; its jobs are cancelled in the background, its workers ended.
	 */
	remove(id: string): Promise<void>;
	/** Runs another change of an endpoint after those before it. */
	inTurn<T>(work: () => Promise<T>): Promise<T>;
	/** Reads what other servers have changed, and acts on it. */
	refresh(): Promise<void>;
	/**
	 * The endpoint; where several servers share a store, one not known yet is looked for there.
	 * Throws `endpoint_not_found`.
	 */
	find(id: string): Endpoint | Promise<Endpoint>;
	/** Brings deletions to their end, those of an earlier run too. */
	loop: Loop;
}

export function endpoints(d: Deps): Endpoints {
	const { registry, store } = d;
	let last: Promise<void> = Promise.resolve();
	/** A refresh that has not begun: it will see whatever is there when it is asked for. */
	let next: Promise<void> | undefined;
	let soughtAt = -Infinity;

	function read(id: string, settings: unknown): Endpoint {
		const found = readEndpoint(id, settings);
		if (found.ok) return found.endpoint;
		const [first, ...rest] = found.faults as [Fault, ...Fault[]];
		throw badRequest([first, ...rest]);
	}

	async function put(endpoint: Endpoint): Promise<EndpointEntry> {
		await registry.put(endpoint, d.now());
		d.look();
		return registry.entry(endpoint.id);
	}

	function after<T>(work: () => Promise<T>): Promise<T> {
		const mine = last.then(work);
		last = mine.then(
			() => {},
			() => {},
		);
		return mine;
	}

	/** One change after the other: each begins with what the one before left, at any server. */
	function inTurn<T>(work: () => Promise<T>): Promise<T> {
		return after(d.cluster.shared ? () => reload().then(work) : work);
	}

	async function reload(): Promise<void> {
		const gone = await registry.load((id, fault) =>
			d.events.emit("fault", { where: `endpoint ${id} in the store`, error: fault }),
		);
		for (const id of gone) forgotten(id);
	}

	/** Nothing of a deleted endpoint is left. */
	function forgotten(id: string): void {
		d.tokens.forget(id);
		d.dispatch.forget(id);
		for (const worker of [...d.workers.of(id)])
			if (worker.launcher === "external") d.workers.forget(worker);
	}

	function refresh(): Promise<void> {
		next ??= after(async () => {
			next = undefined;
			await reload();
			endWorkers();
			removal.nudge();
			d.dispatch.look();
			d.look();
		});
		return next;
	}

	/**
	 * Ends what works for an endpoint that is none any more: also what was taken over at a start, or
	 * was being launched meanwhile.
	 */
	function endWorkers(): void {
		for (const worker of d.workers.all()) {
			if (registry.has(worker.endpoint) || worker.draining) continue;
			worker.draining = true;
			for (const end of worker.polls) end();
			if (worker.launcher !== "external") d.end(worker);
		}
	}

	const removal = loop({
		clock: d.clock,
		retryMs: LOOK_MS,
		onError: (error) => d.events.emit("fault", { where: "deleting endpoints", error }),
		step: async () => {
			endWorkers();
			if (!d.cluster.leads("removal")) return LOOK_MS;
			for (const id of registry.removing()) {
				const { left } = await store.jobs.cancelAll({
					endpoint: id,
					limit: CANCEL_LIMIT,
					now: d.now(),
				});
				if (left) return 0;
				if (!(await store.endpoints.forget({ id, now: d.now() }))) continue;
				registry.removed(id);
				forgotten(id);
			}
			return LOOK_MS;
		},
	});

	return {
		async create(body) {
			const given =
				typeof body === "object" && body !== null && !Array.isArray(body)
					? (body as Record<string, unknown>)
					: undefined;
			if (!given)
				throw badRequest([
					{ field: "", message: 'must be an object of settings, such as {"id": "thumbnail"}.' },
				]);
			const { id = hex(d.random(7)), ...settings } = given;
			if (typeof id !== "string")
				throw badRequest([
					{
						field: "id",
						message: "must be text of 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
					},
				]);
			const endpoint = read(id, settings);
			return await inTurn(async () => {
				if (registry.has(id)) throw new ApiError("endpoint_exists", { endpoint: id, why: "" });
				if ([...registry.removing()].includes(id))
					throw new ApiError("endpoint_exists", { endpoint: id, why: ", which is being deleted" });
				return await put(endpoint);
			});
		},
		update: (id, patch) =>
			inTurn(async () => {
				const { id: _, ...settings } = registry.get(id);
				return await put(read(id, mergeSettings(settings, patch)));
			}),
		pause: (id, paused) =>
			inTurn(async () => {
				await registry.pause(id, paused);
				d.events.emit(paused ? "endpoint.paused" : "endpoint.resumed", { endpoint: id });
				if (!paused) {
					d.dispatch.look();
					d.look();
				}
				return registry.entry(id);
			}),
		remove: (id) =>
			inTurn(async () => {
				await registry.remove(id);
				d.events.emit("endpoint.removed", { endpoint: id });
				endWorkers();
				removal.nudge();
			}),
		inTurn,
		refresh,
		find(id) {
			if (registry.has(id) || !d.cluster.shared || d.clock.now() - soughtAt < SEEK_MS)
				return registry.get(id);
			soughtAt = d.clock.now();
			return refresh().then(() => registry.get(id));
		},
		loop: removal,
	};
}
