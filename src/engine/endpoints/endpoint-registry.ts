/** The endpoints this server knows, kept in memory over the store (D27, D35). */
import type { Endpoint } from "../../core/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { EndpointStore } from "../../store/contract/endpoints.ts";
import type { Random } from "../../ids.ts";
import type { Encryption } from "../access/encryption.ts";
import { newWebhookSecret } from "../webhooks/webhook-secrets.ts";
import { readEndpoint } from "../../endpoint-settings.ts";

/** An endpoint with what is no setting of it. */
export interface EndpointEntry {
	endpoint: Endpoint;
	/** Jobs are accepted and queued, not handed out (D29). */
	paused: boolean;
	/** Ms since the epoch. */
	createdAt: number;
}

/** Looks endpoints up and keeps them. */
export interface EndpointRegistry {
	/**
	 * Reads what the store has, again and again where other servers change it too. Faulty records are
	 * left out and told to `onFault`. Answers the endpoints of which nothing is left.
	 */
	load(onFault: (id: string, fault: string) => void): Promise<string[]>;
	/** Creates or updates an endpoint; what the file says wins over the store (D35). */
	put(endpoint: Endpoint, now: number): Promise<void>;
	/** Throws `endpoint_not_found`. */
	get(id: string): Endpoint;
	/** As {@link get}, with what is no setting. */
	entry(id: string): EndpointEntry;
	/**
	 * The webhook secret, sealed; it is no part of the settings, and there while deliveries of a
	 * deleted endpoint are (D21).
	 */
	sealedSecret(id: string): string | undefined;
	has(id: string): boolean;
	paused(id: string): boolean;
	pause(id: string, paused: boolean): Promise<void>;
	/**
	 * The endpoint is unknown from now on; its jobs and deliveries are still to be ended (D39).
	 * Throws `endpoint_not_found`.
	 */
	remove(id: string): Promise<void>;
	/** Endpoints that are being deleted. */
	removing(): Iterable<string>;
	/** Nothing of an endpoint that was being deleted is left. */
	removed(id: string): void;
	all(): Iterable<EndpointEntry>;
}

/** A registry over the store's endpoints. */
export function endpointRegistry(
	store: EndpointStore,
	{ seal, random }: { seal: Encryption; random: Random },
): EndpointRegistry {
	const known = new Map<string, EndpointEntry>();
	const going = new Set<string>();
	const secrets = new Map<string, string>();
	/** Settings as last read: most are the same the next time. */
	const texts = new Map<string, string>();

	function entry(id: string): EndpointEntry {
		const found = known.get(id);
		if (!found) throw new ApiError("endpoint_not_found", { endpoint: id });
		return found;
	}

	function removed(id: string): void {
		going.delete(id);
		secrets.delete(id);
	}

	return {
		async load(onFault) {
			const rows = await store.list();
			for (const { id, settings, secret, paused, createdAt, removing } of rows) {
				if (secret !== undefined) secrets.set(id, secret);
				if (removing) {
					known.delete(id);
					going.add(id);
					continue;
				}
				going.delete(id);
				const now = known.get(id);
				if (now && texts.get(id) === settings) {
					now.paused = paused;
					continue;
				}
				const read = readEndpoint(id, JSON.parse(settings));
				if (!read.ok) {
					onFault(id, read.faults.map((fault) => `${fault.field} ${fault.message}`).join(" "));
					continue;
				}
				texts.set(id, settings);
				known.set(id, { endpoint: read.endpoint, paused, createdAt });
			}
			const there = new Set(rows.map(({ id }) => id));
			const gone = [...known.keys(), ...going].filter((id) => !there.has(id));
			for (const id of gone) {
				known.delete(id);
				texts.delete(id);
				removed(id);
			}
			return gone;
		},
		async put(endpoint, now) {
			const { id, webhookSecret, ...settings } = endpoint;
			const secret =
				webhookSecret === undefined
					? (secrets.get(id) ?? seal.close(newWebhookSecret(random)))
					: seal.close(webhookSecret);
			const text = JSON.stringify(settings);
			await store.put({ id, settings: text, secret, now });
			texts.set(id, text);
			going.delete(id);
			secrets.set(id, secret);
			known.set(id, {
				paused: false,
				createdAt: now,
				...known.get(id),
				endpoint: { id, ...settings },
			});
		},
		get: (id) => entry(id).endpoint,
		entry,
		sealedSecret: (id) => secrets.get(id),
		has: (id) => known.has(id),
		paused: (id) => known.get(id)?.paused ?? false,
		async pause(id, paused) {
			entry(id);
			await store.pause({ id, paused });
			const now = known.get(id);
			if (now) now.paused = paused;
		},
		async remove(id) {
			entry(id);
			// First on disk: a deletion that is refused must not have begun.
			await store.remove({ id });
			known.delete(id);
			texts.delete(id);
			going.add(id);
		},
		removing: () => [...going],
		removed,
		all: () => [...known.values()],
	};
}
