/** The endpoints this server knows, in memory over the store (D27, D35). */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EpochMs } from "../../core/time.ts";
import { readEndpoint } from "../../endpoint-settings.ts";
import { ApiError } from "../../core/errors.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Random } from "../../ids.ts";
import type { Encryption } from "../access/encryption.ts";
import { openSettings, resealText, sealSettings } from "./sealed-settings.ts";
import { decryptSecret, encryptSecret, newWebhookSecret, SECRET_OVERLAP_MS } from "./webhook-secrets.ts";

/** An endpoint with what is not a setting of it. */
export interface EndpointEntry {
	endpoint: Endpoint;
	/** Jobs are accepted and queued, not dispatched (D29). */
	paused: boolean;
	createdAt: EpochMs;
}

export interface EndpointRegistry {
	/**
	 * Reads the store, again where other servers change it too. `onFault` gets the rows that cannot be
	 * read, which are left out. Returns the endpoints that no longer exist.
	 */
	load(onFault: (id: string, fault: string) => void): Promise<string[]>;
	/**
	 * Creates or updates an endpoint. A webhook secret that is replaced signs beside the new one for
	 * `overlapMs`, a day by default.
	 */
	put(endpoint: Endpoint, now: EpochMs, overlapMs?: number): Promise<void>;
	/** Throws `endpoint_not_found`. */
	get(id: string): Endpoint;
	/** Throws `endpoint_not_found`. */
	entry(id: string): EndpointEntry;
	/** The encrypted webhook secret, also while a removed endpoint still has deliveries (D21). */
	encryptedSecret(id: string): string | undefined;
	has(id: string): boolean;
	paused(id: string): boolean;
	/** Throws `endpoint_not_found`. */
	pause(id: string, paused: boolean): Promise<void>;
	/**
	 * Removes the endpoint for callers; its jobs and deliveries are still to be
	 * ended (D39). Throws `endpoint_not_found`.
	 */
	remove(id: string): Promise<void>;
	/** Endpoints that are being deleted. */
	removing(): Iterable<string>;
	/** The deletion of an endpoint is complete. */
	deleted(id: string): void;
	all(): Iterable<EndpointEntry>;
}

export function endpointRegistry(
	{ endpoints: store }: Pick<Store, "endpoints">,
	{ encryption, random }: { encryption: Encryption; random: Random },
): EndpointRegistry {
	const entries = new Map<string, EndpointEntry>();
	const removing = new Set<string>();
	const secrets = new Map<string, string>();
	/** Settings as stored when last read: most are unchanged the next time. */
	const settingsTexts = new Map<string, string>();

	function entry(id: string): EndpointEntry {
		const found = entries.get(id);
		if (!found) throw new ApiError("endpoint_not_found", { endpoint: id });
		return found;
	}

	/** The encrypted secret after a change. The one that it replaces signs too for `overlapMs`. */
	function nextSecret({
		current,
		webhookSecret: text,
		overlapMs,
		now,
	}: {
		current: string | undefined;
		webhookSecret: string | undefined;
		overlapMs: number;
		now: EpochMs;
	}): string {
		if (text === undefined) return current ?? encryption.encrypt(newWebhookSecret(random));
		const before = decryptSecret(encryption, current, now);
		// The configuration file sets the same one at each start.
		if (before.ok && before.text === text) return current!;
		const former = before.ok && overlapMs > 0 ? { text: before.text, until: now + overlapMs } : undefined;
		return encryptSecret(encryption, { text, former });
	}

	function deleted(id: string): void {
		removing.delete(id);
		secrets.delete(id);
	}

	return {
		async load(onFault) {
			const rows = await store.list();
			for (const row of rows) {
				const { id, settings, secret, paused, createdAt, removing: isRemoving } = row;
				if (secret !== undefined) secrets.set(id, secret);
				if (isRemoving) {
					entries.delete(id);
					removing.add(id);
					continue;
				}
				removing.delete(id);
				const current = entries.get(id);
				if (current && settingsTexts.get(id) === settings) {
					current.paused = paused;
					continue;
				}
				const opened = openSettings(settings, encryption);
				const read = readEndpoint(id, opened.settings);
				if (!read.ok) {
					onFault(id, read.faults.map((fault) => `${fault.field} ${fault.message}`).join(" "));
					continue;
				}
				if (opened.unreadable.length > 0) onFault(id, unreadableEnv(opened.unreadable));
				settingsTexts.set(id, settings);
				entries.set(id, { endpoint: read.endpoint, paused, createdAt });
			}
			const stored = new Set(rows.map(({ id }) => id));
			const missing = [...entries.keys(), ...removing].filter((id) => !stored.has(id));
			for (const id of missing) {
				entries.delete(id);
				settingsTexts.delete(id);
				deleted(id);
			}
			return missing;
		},
		async put(endpoint, now, overlapMs = SECRET_OVERLAP_MS) {
			const { id, webhookSecret, ...settings } = endpoint;
			const next = nextSecret({ current: secrets.get(id), webhookSecret, overlapMs, now });
			// `sluice migrate --reencrypt` relies on it while servers run.
			const secret = resealText(next, encryption);
			const text = sealSettings(settings, encryption, settingsTexts.get(id));
			await store.put({ id, settings: text, secret, now });
			settingsTexts.set(id, text);
			removing.delete(id);
			secrets.set(id, secret);
			entries.set(id, {
				paused: false,
				createdAt: now,
				...entries.get(id),
				endpoint: { id, ...settings },
			});
		},
		get: (id) => entry(id).endpoint,
		entry,
		encryptedSecret: (id) => secrets.get(id),
		has: (id) => entries.has(id),
		paused: (id) => entries.get(id)?.paused ?? false,
		async pause(id, paused) {
			entry(id);
			await store.pause({ id, paused });
			const current = entries.get(id);
			if (current) current.paused = paused;
		},
		async remove(id) {
			entry(id);
			// The store first: a deletion that it refuses must not have begun.
			await store.remove({ id });
			entries.delete(id);
			settingsTexts.delete(id);
			removing.add(id);
		},
		removing: () => [...removing],
		deleted,
		all: () => [...entries.values()],
	};
}

function unreadableEnv(names: readonly string[]): string {
	return (
		`The values of env ${names.join(", ")} were stored under another SLUICE_SECRET and cannot be ` +
		"read: workers start without them. Set them again."
	);
}
