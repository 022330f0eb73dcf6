/** Endpoints: looked up by every request; created, changed, paused and deleted by operators. */
import { type Endpoint, ENDPOINT_DEFAULTS, mergeSettings } from "../../core/endpoint.ts";
import { ApiError, badRequest, type Fault } from "../../core/errors.ts";
import type { LocalMs } from "../../core/time.ts";
import { readEndpoint } from "../../endpoint-settings.ts";
import { hex } from "../../ids.ts";
import { isManaged, missingHere } from "../../launchers/index.ts";
import type { Service } from "../../service.ts";
import { unlessFull } from "../availability/read-only-start.ts";
import type { Encryption } from "../access/encryption.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import { type EndpointEntry, endpointRegistry, type EndpointRegistry } from "./endpoint-registry.ts";
import { endpointRemoval } from "./removal.ts";
import { decryptSecret, newWebhookSecret, type WebhookSecret } from "./webhook-secrets.ts";

/** Least time between two searches of the store for an unknown endpoint, ms. */
const SEARCH_MS = 200;

interface Deps extends Pick<EngineContext, "clock" | "now" | "random" | "events" | "store" | "background"> {
	encryption: Encryption;
	cluster: Pick<Cluster, "shared" | "leads">;
}

/**
 * Settings are as in `sluice.yaml`; invalid ones throw `bad_request` with every fault. Operations
 * on an unknown endpoint throw `endpoint_not_found`.
 */
export interface Endpoints
	extends Pick<EndpointRegistry, "get" | "has" | "all" | "entry" | "paused" | "encryptedSecret"> {
	/** The endpoint; where several servers share a store, one that another just created too. */
	find(id: string): Endpoint | Promise<Endpoint>;
	/** Creates an endpoint; without an id it gets a random one. Throws `endpoint_exists`. */
	create(settings: unknown): Promise<EndpointEntry>;
	/** Changes what `patch` names; null restores a default. */
	update(id: string, patch: unknown): Promise<EndpointEntry>;
	pause(id: string, paused: boolean): Promise<EndpointEntry>;
	/** Removes the endpoint for callers; its jobs are cancelled in the background. */
	remove(id: string): Promise<void>;
	/**
	 * Replaces the secret for every delivery from now on, and returns it, only this once. One in
	 * `sluice.yaml` replaces it at the next start.
	 */
	renewWebhookSecret(id: string, overlapMs?: number): Promise<string>;
	/** Returns the settings; of an endpoint that is being deleted, the defaults: it ends sooner. */
	webhookSettings(id: string): Endpoint["webhooks"];
	/** The secret for signing, also of an endpoint that is being deleted. */
	webhookSecret(id: string): WebhookSecret;
	/** Time from the request to stop until a worker is killed, also of a deleted endpoint, ms. */
	stopGraceMs(id: string): number;
	/** Ids of the endpoints whose workers Sluice starts and stops. */
	managed(): Iterable<string>;
	/** At the start: reads the store; `configured` endpoints of `sluice.yaml` replace stored ones. */
	load(configured: readonly Endpoint[]): Promise<void>;
	/** Reads what other servers have changed, in the background. */
	refresh(): void;
	services: readonly Service[];
}

export function createEndpoints(d: Deps): Endpoints {
	const registry = endpointRegistry(d.store, d);
	const removal = endpointRemoval({ ...d, registry });
	let last: Promise<void> = Promise.resolve();
	/** A refresh that has not begun: it will read whatever was changed until then. */
	let pendingRefresh: Promise<void> | undefined;
	let searchedAt: LocalMs = -Infinity;
	const unstored: Endpoint[] = [];

	function parse(id: string, settings: unknown): Endpoint {
		const found = readEndpoint(id, settings);
		if (found.ok) return found.endpoint;
		throw refusal(found.faults);
	}

	/** A launcher that was not checked before; several servers may have different folders. */
	async function checkLauncher({ launcher }: Endpoint, before?: Endpoint): Promise<void> {
		if (d.cluster.shared || JSON.stringify(launcher) === JSON.stringify(before?.launcher)) return;
		const faults = await missingHere(launcher);
		if (faults.length > 0) throw refusal(faults);
	}

	async function put(endpoint: Endpoint): Promise<EndpointEntry> {
		await registry.put(endpoint, d.now());
		d.events.emit("endpoints.changed", {});
		return registry.entry(endpoint.id);
	}

	function afterLast<T>(work: () => Promise<T>): Promise<T> {
		const mine = last.then(work);
		last = mine.then(
			() => {},
			() => {},
		);
		return mine;
	}

	/** One change after the other: each begins with the result of the one before, at any server. */
	function inTurn<T>(work: () => Promise<T>): Promise<T> {
		return afterLast(d.cluster.shared ? () => reload().then(work) : work);
	}

	async function reload(): Promise<void> {
		const missing = await registry.load((id, fault) =>
			d.events.emit("fault", { where: `endpoint ${id} in the store`, error: fault }),
		);
		for (const id of missing) d.events.emit("endpoint.deleted", { endpoint: id });
	}

	function refreshNow(): Promise<void> {
		pendingRefresh ??= afterLast(async () => {
			pendingRefresh = undefined;
			await reload();
			removal.nudge();
			d.events.emit("endpoints.changed", {});
		});
		return pendingRefresh;
	}

	/** Stores the configured endpoints, on a disk that was full at the start. */
	async function storeConfigured(): Promise<void> {
		for (let next; (next = unstored[0]); unstored.shift()) await put(next);
	}

	d.events.on("store.back", () => {
		if (unstored.length > 0) d.background.run("storing the configured endpoints", inTurn(storeConfigured));
	});
	const refresh = (): void => d.background.run("reading endpoints", refreshNow());
	d.events.on("store.back", refresh);
	d.events.on("hints.lost", refresh);
	for (const event of ["lease.taken", "server.joined", "server.left"] as const) d.events.on(event, removal.nudge);

	return {
		get: registry.get,
		has: registry.has,
		all: registry.all,
		entry: registry.entry,
		paused: registry.paused,
		encryptedSecret: registry.encryptedSecret,
		find(id) {
			if (registry.has(id) || !d.cluster.shared || d.clock.now() - searchedAt < SEARCH_MS) return registry.get(id);
			searchedAt = d.clock.now();
			return refreshNow().then(() => registry.get(id));
		},
		async create(body) {
			const { id = hex(d.random(7)), ...settings } = settingsIn(body);
			if (typeof id !== "string")
				throw badRequest([
					{
						field: "id",
						message: "must be text of 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.",
					},
				]);
			const endpoint = parse(id, settings);
			await checkLauncher(endpoint);
			return await inTurn(async () => {
				if (registry.has(id)) throw new ApiError("endpoint_exists", { endpoint: id, why: "" });
				if ([...registry.removing()].includes(id))
					throw new ApiError("endpoint_exists", { endpoint: id, why: ", which is being deleted" });
				return await put(endpoint);
			});
		},
		update: (id, patch) =>
			inTurn(async () => {
				const before = registry.get(id);
				const { id: _, ...settings } = before;
				const endpoint = parse(id, mergeSettings(settings, patch));
				await checkLauncher(endpoint, before);
				return await put(endpoint);
			}),
		pause: (id, paused) =>
			inTurn(async () => {
				await registry.pause(id, paused);
				d.events.emit(paused ? "endpoint.paused" : "endpoint.resumed", { endpoint: id });
				return registry.entry(id);
			}),
		remove: (id) =>
			inTurn(async () => {
				await registry.remove(id);
				d.events.emit("endpoint.removed", { endpoint: id });
				removal.nudge();
			}),
		renewWebhookSecret: (id, overlapMs) =>
			inTurn(async () => {
				const webhookSecret = newWebhookSecret(d.random);
				await registry.put({ ...registry.get(id), webhookSecret }, d.now(), overlapMs);
				return webhookSecret;
			}),
		webhookSecret: (id) => decryptSecret(d.encryption, registry.encryptedSecret(id), d.now()),
		webhookSettings: (id) => (registry.has(id) ? registry.get(id) : ENDPOINT_DEFAULTS).webhooks,
		stopGraceMs: (id) => (registry.has(id) ? registry.get(id) : ENDPOINT_DEFAULTS).stopGraceMs,
		managed: () =>
			[...registry.all()].flatMap(({ endpoint: { id, launcher } }) => (isManaged(launcher.type) ? [id] : [])),
		async load(configured) {
			await reload();
			for (const endpoint of configured)
				if (!(await unlessFull(registry.put(endpoint, d.now())))) unstored.push(endpoint);
		},
		refresh,
		services: [removal],
	};
}

function refusal(faults: readonly Fault[]): ApiError {
	const [first, ...rest] = faults as [Fault, ...Fault[]];
	return badRequest([first, ...rest]);
}

function settingsIn(body: unknown): Record<string, unknown> {
	if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
	throw badRequest([{ field: "", message: 'must be an object of settings, such as {"id": "thumbnail"}.' }]);
}
