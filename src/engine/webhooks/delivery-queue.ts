/** Claimed deliveries by receiver host: a slow receiver delays only its own deliveries (D21). */
import { DELIVERY_TIMEOUT_MS } from "../../core/delivery.ts";
import { sizeOf } from "../../core/json/json-text.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import type { DeliveryRow } from "../../store/contract/webhooks.ts";

/** A delivery with its body. */
export type Delivery = DeliveryRow & { body: JsonText };

/** Most concurrent sends, to all receivers and to one host. */
const MAX_SENDS = 64;
const MAX_SENDS_PER_HOST = 4;

/** Most that wait for one host; others are dropped, and claimed again after their hold ends. */
const MAX_WAITING_PER_HOST = 2000;

/** Most characters of bodies in memory. */
const MAX_BODIES = 64 * 1024 * 1024;

/** From the start of a send to the record of its end, ms: a delivery held for less is not begun. */
export const SEND_MS = DELIVERY_TIMEOUT_MS + 2000;

export interface DeliveryQueue {
	/** Adds it, unless it is already here or too many wait for its host. */
	add(delivery: Delivery, heldUntil: number): void;
	/** The next one to send, hosts in turn. */
	next(now: number): Delivery | undefined;
	/** Its send has ended. */
	done(delivery: Delivery): void;
	/** Drops those that wait and are not held long enough any more. */
	dropLate(now: number): void;
	/** Characters of bodies that may still be added. */
	readonly room: number;
	readonly waiting: number;
}

interface Host {
	waiting: { delivery: Delivery; heldUntil: number }[];
	sending: number;
}

/** Host and port of a webhook's URL; path and query may be secret. */
export function hostOf(url: string): string {
	return URL.parse(url)?.host ?? "";
}

export function deliveryQueue(): DeliveryQueue {
	const hosts = new Map<string, Host>();
	const ids = new Set<string>();
	let room = MAX_BODIES;
	let waiting = 0;
	let sending = 0;

	function free({ id, body }: Delivery): void {
		ids.delete(id);
		room += sizeOf(body);
	}

	function dropLate(host: Host, now: number): void {
		while (host.waiting[0] && host.waiting[0].heldUntil - now < SEND_MS) {
			free(host.waiting.shift()!.delivery);
			waiting -= 1;
		}
	}

	return {
		add(delivery, heldUntil) {
			if (ids.has(delivery.id)) return;
			const name = hostOf(delivery.url);
			const host = hosts.get(name) ?? { waiting: [], sending: 0 };
			if (host.waiting.length >= MAX_WAITING_PER_HOST) return;
			hosts.set(name, host);
			host.waiting.push({ delivery, heldUntil });
			ids.add(delivery.id);
			waiting += 1;
			room -= sizeOf(delivery.body);
		},
		next(now) {
			if (sending >= MAX_SENDS) return undefined;
			for (const [name, host] of hosts) {
				if (host.sending >= MAX_SENDS_PER_HOST) continue;
				dropLate(host, now);
				const first = host.waiting.shift();
				if (!first) continue;
				// To the end, so that all hosts get their turn.
				hosts.delete(name);
				hosts.set(name, host);
				host.sending += 1;
				sending += 1;
				waiting -= 1;
				return first.delivery;
			}
			return undefined;
		},
		done(delivery) {
			const name = hostOf(delivery.url);
			const host = hosts.get(name)!;
			host.sending -= 1;
			sending -= 1;
			free(delivery);
			if (host.sending === 0 && host.waiting.length === 0) hosts.delete(name);
		},
		dropLate(now) {
			for (const [name, host] of hosts) {
				dropLate(host, now);
				if (host.sending === 0 && host.waiting.length === 0) hosts.delete(name);
			}
		},
		get room() {
			return Math.max(0, room);
		},
		get waiting() {
			return waiting;
		},
	};
}
