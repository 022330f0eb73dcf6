/** Endpoints in memory over the store (D27, D35). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { ResourceKey } from "../../core/endpoints/used-resources.ts";
import type { EpochMs } from "../../lib/time.ts";
import { readEndpoint } from "../../launchers/endpoint-settings.ts";
import { ApiError } from "../../core/errors.ts";
import type { EndpointRow, ReleaseChanges } from "../../store/contract/endpoints.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Random } from "../../lib/ids.ts";
import type { Encryption } from "../../secrets/encryption.ts";
import type { EngineContext } from "../context.ts";
import { openSettings, resealText, sealSettings } from "./sealed-settings.ts";
import { nextSecret, SECRET_OVERLAP_MS } from "./webhook-secrets.ts";

export interface EndpointEntry {
	endpoint: Endpoint;
	/** Jobs are accepted and queued, not dispatched (D29). */
	paused: boolean;
	createdAt: EpochMs;
}

interface PutOptions {
	overlapMs?: number | undefined;
	releases?: ReleaseChanges | undefined;
	uses?: readonly ResourceKey[];
}

export type EndpointRegistry = ReturnType<typeof endpointRegistry>;

export function endpointRegistry(
	{ endpoints: store }: Store,
	{ encryption, random, hooks }: { encryption: Encryption; random: Random; hooks: EngineContext["hooks"] },
) {
	const entries = new Map<string, EndpointEntry>();
	const removing = new Set<string>();
	const secrets = new Map<string, string>();
	/**
	 * Stored settings by id, most of which are unchanged at the next read. `fault`: this server cannot read them; the
	 * entry then has the settings that it read before.
	 */
	const stored = new Map<string, { text: string; fault?: string }>();

	/** Throws `endpoint_not_found`. */
	function entry(id: string): EndpointEntry {
		const found = entries.get(id);
		if (!found) throw notFound(id);
		return found;
	}

	function deleted(id: string): void {
		removing.delete(id);
		secrets.delete(id);
	}

	return {
		/**
		 * Reads the store again, except rows that cannot be read (`onFault`). Returns the endpoints that do not exist any
		 * more.
		 */
		async load(onFault: (id: string, fault: string) => void): Promise<string[]> {
			const rows = await store.list();
			for (const row of rows) {
				const { id, settings, secret, paused, createdAt, removing: isRemoving } = row;
				if (secret !== undefined) secrets.set(id, secret);
				else secrets.delete(id);
				if (isRemoving) {
					entries.delete(id);
					stored.delete(id);
					removing.add(id);
					continue;
				}
				removing.delete(id);
				const current = entries.get(id);
				if (current) current.paused = paused;
				if (stored.get(id)?.text === settings) continue;
				const { endpoint, fault, isFinal } = await readRow(row, { encryption, hooks });
				if (fault !== undefined) onFault(id, fault);
				// The next reading tries again; the other endpoints do not wait for it.
				if (!isFinal) continue;
				stored.set(id, { text: settings, ...(!endpoint && fault !== undefined && { fault }) });
				if (endpoint) entries.set(id, { endpoint, paused, createdAt });
			}
			const ids = new Set(rows.map(({ id }) => id));
			const missing = [...stored.keys(), ...removing].filter((id) => !ids.has(id));
			for (const id of missing) {
				entries.delete(id);
				stored.delete(id);
				deleted(id);
			}
			return missing;
		},
		/**
		 * Stores an endpoint. A replaced webhook secret signs together with the new one for `overlapMs`. Returns false,
		 * without a change, if another server has changed, created or removed the endpoint since it was read, or if one of
		 * the resources `uses` does not exist.
		 */
		async put(
			endpoint: Endpoint,
			now: EpochMs,
			{ overlapMs = SECRET_OVERLAP_MS, ...more }: PutOptions = {},
		): Promise<boolean> {
			await hooks.openFor?.(endpoint);
			const { id, webhookSecret, ...settings } = endpoint;
			const secretText = { text: webhookSecret, overlapMs, now };
			const next = nextSecret({ encryption, random }, secrets.get(id), secretText);
			// `sluice migrate --reencrypt` relies on this while servers run.
			const secret = resealText(next, encryption);
			const known = stored.get(id)?.text;
			const before = known === undefined ? undefined : { settings: known, secret: secrets.get(id) };
			const text = sealSettings(settings, encryption, known);
			if (!(await store.put({ id, before, settings: text, secret, ...more, now }))) return false;
			stored.set(id, { text });
			secrets.set(id, secret);
			entries.set(id, { paused: false, createdAt: now, ...entries.get(id), endpoint: { id, ...settings } });
			return true;
		},
		get: (id: string): Endpoint => entry(id).endpoint,
		entry,
		/** Returns the secret also for a removed endpoint that still has deliveries (D21). */
		encryptedSecret: (id: string): string | undefined => secrets.get(id),
		has: (id: string): boolean => entries.has(id),
		/** Why this server cannot read the stored settings; undefined if it can. */
		fault: (id: string): string | undefined => stored.get(id)?.fault,
		paused: (id: string): boolean => entries.get(id)?.paused ?? false,
		async pause(id: string, paused: boolean): Promise<void> {
			entry(id);
			if (!(await store.pause({ id, paused }))) throw notFound(id);
			const current = entries.get(id);
			if (current) current.paused = paused;
		},
		/** Removes an endpoint for callers; its jobs and deliveries are still to be ended (D39). */
		async remove(id: string): Promise<void> {
			entry(id);
			// The store comes first: a deletion that it refuses must not have begun.
			if (!(await store.remove({ id }))) throw notFound(id);
			entries.delete(id);
			stored.delete(id);
			removing.add(id);
		},
		removing: () => [...removing],
		deleted,
		all: () => [...entries.values()],
	};
}

const notFound = (id: string): ApiError => new ApiError("endpoint_not_found", { endpoint: id });

/** What this server reads in a row. */
interface ReadRow {
	/** Undefined if the settings cannot be read. */
	endpoint?: Endpoint;
	/** What is wrong, as a sentence. */
	fault?: string;
	/** Whether the same settings will be read so again. */
	isFinal: boolean;
}

async function readRow(
	{ id, settings }: EndpointRow,
	{ encryption, hooks }: { encryption: Encryption; hooks: EngineContext["hooks"] },
): Promise<ReadRow> {
	const opened = openSettings(settings, encryption);
	const read = readEndpoint(id, opened.settings);
	if (!read.ok)
		return { fault: read.faults.map(({ field, message }) => `${field} ${message}`).join(" "), isFinal: true };
	try {
		await hooks.openFor?.(read.endpoint);
	} catch (error) {
		return { fault: `a module that it needs cannot be opened: ${String(error)}`, isFinal: false };
	}
	const fault = opened.unreadable.length === 0 ? undefined : unreadableEnv(opened.unreadable);
	return { endpoint: read.endpoint, ...(fault !== undefined && { fault }), isFinal: true };
}

function unreadableEnv(names: readonly string[]): string {
	return (
		`The values of env ${names.join(", ")} were stored under another SLUICE_SECRET and cannot be ` +
		"read: workers start without them. Set them again."
	);
}
