import { type Endpoint, ENDPOINT_DEFAULTS } from "../../core/endpoints/endpoint.ts";
import { changesBetween, type SettingChange } from "../../core/endpoints/endpoint-changes.ts";
import { launchedSettings, withLaunched } from "../../core/releases/launched-settings.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { resourceNotFound, usedResources, uses } from "../../core/endpoints/used-resources.ts";
import { isReserved, reservedFaults } from "../../core/endpoints/reserved-ids.ts";
import type { LocalMs } from "../../lib/time.ts";
import { patchSettings, readEndpoint, serviceFaults } from "../../launchers/endpoint-settings.ts";
import { hex } from "../../lib/ids.ts";
import type { Fault } from "../../lib/schema.ts";
import { isManaged, missingHere } from "../../launchers/index.ts";
import type { Loop, Service } from "../../system/loop.ts";
import type { Encryption } from "../../secrets/encryption.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import { ConfiguredEndpoints } from "./configured-endpoints.ts";
import { type EndpointEntry, endpointRegistry, type EndpointRegistry } from "./endpoint-registry.ts";
import { endpointRemoval } from "./removal.ts";
import { endpointVersions, type EndpointVersions, type Origin } from "./versions.ts";
import { decryptSecret, newWebhookSecret, type WebhookSecret } from "./webhook-secrets.ts";

/** Calls with unknown ids within this time share one search, ms, since a search reads all endpoints. */
const SEARCH_MS = 200;

/** Maximum attempts of a change that collides with changes of other servers. */
const TRIES = 10;

const BY_API: Origin = { source: "api" };
const BY_FILE: Origin = { source: "file" };

interface Compared {
	id: string;
	isNew: boolean;
	endpoint: Endpoint;
	changes: SettingChange[];
}

interface Deps extends EngineContext {
	encryption: Encryption;
	cluster: Cluster;
	publicUrl: string | undefined;
}

/**
 * Creates, changes and deletes endpoints. Settings have the form of `sluice.yaml`; invalid ones throw `bad_request`
 * with every fault. Operations on an unknown endpoint throw `endpoint_not_found`.
 */
export class Endpoints {
	readonly services: readonly Service[];
	readonly versions: EndpointVersions;
	readonly #d: Deps;
	readonly #registry: EndpointRegistry;
	readonly #removal: Loop;
	#last: Promise<void> = Promise.resolve();
	/** The next refresh, not begun yet: it will read all changes made before its start. */
	#pendingRefresh: Promise<void> | undefined;
	/** The next search for unknown ids, not begun yet. */
	#pendingSearch: Promise<void> | undefined;
	#searchedAt: LocalMs = -Infinity;
	/** Version of the stored endpoints at the last comparison. */
	#comparedAt: string | undefined;
	readonly #configured: ConfiguredEndpoints;

	constructor(d: Deps) {
		const { events } = (this.#d = d);
		this.#registry = endpointRegistry(d.store, d);
		this.versions = endpointVersions(d.store, d);
		this.#removal = endpointRemoval({ ...d, registry: this.#registry });
		this.services = [this.#removal];
		this.#configured = new ConfiguredEndpoints({
			...d,
			exists: (id) => this.#exists(id),
			isBeingDeleted: (id) => this.#registry.removing().includes(id),
			store: (endpoint) => this.#store(endpoint, BY_FILE),
			inTurn: (work) => this.#inTurn(work),
			repeated: (id, made) => this.#repeated(id, made),
		});
		events.on(["store.back", "signals.lost"], () => this.refresh());
		events.on(["lease.taken", "server.joined", "server.left"], this.#removal.nudge);
		events.on("endpoint.deleted", ({ endpoint }) => this.versions.forget(endpoint));
	}

	get(id: string): Endpoint {
		return this.#registry.get(id);
	}

	has(id: string): boolean {
		return this.#registry.has(id);
	}

	all(): EndpointEntry[] {
		return this.#registry.all();
	}

	entry(id: string): EndpointEntry {
		return this.#registry.entry(id);
	}

	paused(id: string): boolean {
		return this.#registry.paused(id);
	}

	/** Version of the release that launched a worker; undefined for one that was started elsewhere. */
	releaseOf(id: string, launchedAs: string | undefined): number | undefined {
		if (launchedAs === undefined || !this.has(id)) return undefined;
		return this.versions.of(this.entry(id)).findLast((each) => each.launchHash === launchedAs)?.version;
	}

	/** Returns an endpoint, also one that another server has just created. */
	find(id: string): Endpoint | Promise<Endpoint> {
		if (this.has(id) || !this.#d.cluster.shared) return this.get(id);
		return this.#search().then(() => this.get(id));
	}

	/** Creates an endpoint; without an id it gets a random one. Throws `endpoint_exists`. */
	async create(body: unknown, origin = BY_API): Promise<EndpointEntry> {
		const { id = hex(this.#d.random(7)), ...settings } = settingsIn(body);
		if (typeof id !== "string")
			throw badRequest([{ field: "id", message: "must be text of 1 to 64 of the characters a-z, A-Z, 0-9, _ and -." }]);
		const endpoint = parse(id, settings);
		await this.#checkService(endpoint);
		return await this.#changing(id, async () => {
			if (this.#exists(id)) throw new ApiError("endpoint_exists", { endpoint: id, why: "" });
			this.#refuseId(id);
			return await this.#put(endpoint, origin);
		});
	}

	/** Changes the settings in `patch`; `null` restores a default. */
	update(id: string, patch: unknown, origin = BY_API): Promise<EndpointEntry> {
		return this.change(id, (before) => patchSettings(withoutId(before), patch), origin);
	}

	/** Changes an endpoint. `changed` returns all its settings, or a promise of them; it may run several times. */
	change(id: string, changed: (before: Endpoint) => unknown, origin = BY_API): Promise<EndpointEntry> {
		return this.#changing(id, async () => {
			const before = this.#stored(id);
			const endpoint = parse(id, await changed(before));
			await this.#checkService(endpoint, before);
			return await this.#put(endpoint, origin);
		});
	}

	/**
	 * Creates an endpoint or replaces all its settings; a webhook secret that they do not name stays. `dryRun`: only
	 * compares.
	 */
	replace(
		id: string,
		settings: unknown,
		{ dryRun, origin = BY_API }: { dryRun: boolean; origin?: Origin },
	): Promise<{ isNew: boolean; applied: boolean; changes: SettingChange[] }> {
		return this.#changing(id, async () => {
			const { isNew, endpoint, changes } = await this.#compared(id, settings);
			const applied = !dryRun && (isNew || changes.length > 0);
			if (applied && !(await this.#put(endpoint, origin))) return undefined;
			return { isNew, applied, changes };
		});
	}

	/**
	 * Returns what {@link replace} would do with each endpoint. The store is read only after a change at another server,
	 * since a client may compare many files in a row. Refusals name the endpoint in their fields.
	 */
	async compare(all: Readonly<Record<string, unknown>>): Promise<Omit<Compared, "endpoint">[]> {
		const stored = (await this.#d.store.cluster?.versions())?.endpoints;
		if (stored !== this.#comparedAt) {
			await this.#refreshNow();
			this.#comparedAt = stored;
		}
		const found: Omit<Compared, "endpoint">[] = [];
		for (const [id, settings] of Object.entries(all)) {
			const { isNew, changes } = await this.#compared(id, settings).catch((error: unknown) => {
				throw error instanceof ApiError && error.details ? badRequest(fieldsOf(id, error.details)) : error;
			});
			found.push({ id, isNew, changes });
		}
		return found;
	}

	pause(id: string, paused: boolean): Promise<EndpointEntry> {
		return this.#inTurn(async () => {
			await this.#registry.pause(id, paused);
			this.#d.events.emit(paused ? "endpoint.paused" : "endpoint.resumed", { endpoint: id });
			return this.entry(id);
		});
	}

	/** Deletes an endpoint; its jobs are cancelled in the background. */
	remove(id: string): Promise<void> {
		return this.#inTurn(async () => {
			await this.#registry.remove(id);
			this.#d.events.emit("endpoint.removed", { endpoint: id });
			this.#removal.nudge();
		});
	}

	/**
	 * Replaces the webhook secret and returns the new one, which is not returned again. A secret in `sluice.yaml`
	 * replaces it at the next start.
	 */
	renewWebhookSecret(id: string, overlapMs?: number): Promise<string> {
		return this.#changing(id, async () => {
			const webhookSecret = newWebhookSecret(this.#d.random);
			const isStored = await this.#registry.put({ ...this.#stored(id), webhookSecret }, this.#d.now(), { overlapMs });
			return isStored ? webhookSecret : undefined;
		});
	}

	encryptedSecret(id: string): string | undefined {
		return this.#registry.encryptedSecret(id);
	}

	/** Returns the secret also for an endpoint that is being deleted. */
	webhookSecret(id: string): WebhookSecret {
		return decryptSecret(this.#d.encryption, this.#registry.encryptedSecret(id), this.#d.now());
	}

	/** Returns the defaults for an endpoint that is being deleted, so that its deletion ends sooner. */
	webhookSettings(id: string): Endpoint["webhooks"] {
		return (this.has(id) ? this.get(id) : ENDPOINT_DEFAULTS).webhooks;
	}

	/** Works for a deleted endpoint too. */
	stopGraceMs(id: string): number {
		return (this.has(id) ? this.get(id) : ENDPOINT_DEFAULTS).stopGraceMs;
	}

	managed(): string[] {
		return this.all().flatMap(({ endpoint: { id, launcher } }) => (isManaged(launcher.type) ? [id] : []));
	}

	/** Whether this server's `sluice.yaml` has the endpoint and so replaces its settings at the next start. */
	isConfigured(id: string): boolean {
		return this.#configured.has(id);
	}

	/** Reads the stored endpoints and replaces those that `configured`, from `sluice.yaml`, has. */
	async load(configured: readonly Endpoint[]): Promise<void> {
		await this.#reload();
		await this.#configured.load(configured);
		for (const { endpoint } of this.all())
			if (isReserved(endpoint.id)) this.#d.events.emit("endpoint.reserved", { endpoint: endpoint.id });
	}

	refresh(): void {
		this.#d.background.run("reading endpoints", this.#refreshNow());
	}

	/** Whether the endpoint is stored, even with settings that cannot be read. */
	#exists(id: string): boolean {
		return this.has(id) || this.#registry.fault(id) !== undefined;
	}

	/**
	 * Returns the settings that a change begins with. Throws `endpoint_unreadable` if only earlier settings could be
	 * read.
	 */
	#stored(id: string): Endpoint {
		const fault = this.#registry.fault(id);
		if (fault !== undefined) throw new ApiError("endpoint_unreadable", { endpoint: id, fault });
		return this.get(id);
	}

	async #compared(id: string, settings: unknown): Promise<Compared> {
		const isNew = !this.has(id);
		if (isNew) this.#refuseId(id);
		const endpoint = parse(id, settings);
		const before = isNew ? parse(id, {}) : this.get(id);
		await this.#checkService(endpoint, isNew ? undefined : before);
		const secret = endpoint.webhookSecret === undefined ? undefined : this.webhookSecret(id);
		const changes = changesBetween({ ...before, ...(secret?.ok && { webhookSecret: secret.text }) }, endpoint);
		return { id, isNew, endpoint, changes };
	}

	#refuseId(id: string): void {
		const reserved = reservedFaults(id, "id");
		if (reserved.length > 0) throw badRequest(reserved);
		if (this.#registry.removing().includes(id))
			throw new ApiError("endpoint_exists", { endpoint: id, why: ", which is being deleted" });
	}

	/** What the settings need here. Folders are not checked where servers share the store: each may have others. */
	async #checkService(endpoint: Endpoint, before?: Endpoint): Promise<void> {
		const absent = serviceFaults(endpoint, this.#d.publicUrl);
		if (absent.length > 0) throw badRequest(absent);
		const { launcher } = endpoint;
		if (this.#d.cluster.shared || JSON.stringify(launcher) === JSON.stringify(before?.launcher)) return;
		const faults = await missingHere(launcher);
		if (faults.length > 0) throw badRequest(faults);
	}

	/** Stores an endpoint. Undefined, without a change, if another server changed it since it was read. */
	async #put(endpoint: Endpoint, origin: Origin): Promise<EndpointEntry | undefined> {
		if (!(await this.#store(endpoint, origin))) return undefined;
		this.#d.events.emit("endpoints.changed", {});
		return this.entry(endpoint.id);
	}

	/** Stores an endpoint together with the release that the change makes. */
	async #store(given: Endpoint, origin: Origin): Promise<true | undefined> {
		const { id } = given;
		const before = this.has(id) ? this.entry(id) : undefined;
		// Settings that have failed are not tried again by a start with the same file.
		const isKept = before && origin === BY_FILE && this.versions.isRolledBack(given);
		const endpoint = isKept ? withLaunched(given, launchedSettings(before.endpoint)) : given;
		const now = this.#d.now();
		const releases = await this.versions.changes(endpoint, { before, origin, now });
		const used = origin.keepsUsed ? usedResources(endpoint) : [];
		const begun = used.filter((each) => !before || !uses(before.endpoint, each));
		if (!(await this.#registry.put(endpoint, now, { releases, uses: begun }))) {
			for (const each of begun) if (!(await this.#d.store.resources.find(each))) throw resourceNotFound(each);
			return undefined;
		}
		if (releases) this.versions.changed(id, releases);
		return true;
	}

	/** Repeats a change with the settings stored by then, until no other server changed the endpoint in between. */
	async #repeated<T>(id: string, made: () => Promise<T | undefined>): Promise<T> {
		for (let tries = 1; tries <= TRIES; tries += 1) {
			const result = await made();
			if (result !== undefined) return result;
			await this.#reload();
		}
		throw new ApiError("endpoint_changed", { endpoint: id });
	}

	/** Serializes changes across servers: each begins with the result of the one before. */
	#changing<T>(id: string, made: () => Promise<T | undefined>): Promise<T> {
		return this.#inTurn(() => this.#repeated(id, made));
	}

	#afterLast<T>(work: () => Promise<T>): Promise<T> {
		const mine = this.#last.then(work);
		this.#last = mine.then(
			() => {},
			() => {},
		);
		return mine;
	}

	/** Runs `work` after earlier work; where servers share the store, after a read of what the others have stored. */
	#inTurn<T>(work: () => Promise<T>): Promise<T> {
		return this.#afterLast(this.#d.cluster.shared ? () => this.#reload().then(work) : work);
	}

	async #reload(): Promise<void> {
		const { events } = this.#d;
		await this.versions.load();
		const missing = await this.#registry.load((id, fault) =>
			events.emit("fault", { where: `endpoint ${id} in the store`, error: fault }),
		);
		this.#configured.dropOlder();
		for (const id of missing) events.emit("endpoint.deleted", { endpoint: id });
	}

	#search(): Promise<void> {
		if (this.#pendingSearch) return this.#pendingSearch;
		const { clock } = this.#d;
		const waitMs = this.#searchedAt + SEARCH_MS - clock.now();
		const turn = waitMs > 0 ? clock.sleep(waitMs) : Promise.resolve();
		return (this.#pendingSearch = turn.then(() => {
			this.#searchedAt = clock.now();
			this.#pendingSearch = undefined;
			return this.#refreshNow();
		}));
	}

	#refreshNow(): Promise<void> {
		return (this.#pendingRefresh ??= this.#afterLast(async () => {
			this.#pendingRefresh = undefined;
			await this.#reload();
			this.#removal.nudge();
			this.#d.events.emit("endpoints.changed", {});
		}));
	}
}

/** Settings as `changed` of {@link Endpoints.change} returns them. */
export function withoutId(endpoint: Endpoint): Omit<Endpoint, "id"> {
	const { id: _, ...settings } = endpoint;
	return settings;
}

function fieldsOf(id: string, faults: readonly Fault[]): Fault[] {
	return faults.map(({ field, message }) => ({ field: `endpoints.${id}${field && `.${field}`}`, message }));
}

function parse(id: string, settings: unknown): Endpoint {
	const found = readEndpoint(id, settings);
	if (found.ok) return found.endpoint;
	throw badRequest(found.faults);
}

function settingsIn(body: unknown): Record<string, unknown> {
	if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
	throw badRequest([{ field: "", message: 'must be an object of settings, such as {"id": "thumbnail"}.' }]);
}
