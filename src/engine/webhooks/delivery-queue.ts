/**
 * Claimed deliveries on their way out, by receiver host: a slow receiver holds up its own
 * deliveries only (D21).
 */
import { DELIVERY_TIMEOUT_MS } from "../../core/delivery.ts";
import { sizeOf } from "../../core/json/json-text.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import type { DeliveryRow } from "../../store/contract/webhooks.ts";

/** A delivery with what is sent. */
export type Delivery = DeliveryRow & { body: JsonText };

/** Sends at once, to all receivers and to one host. */
const AT_ONCE = 64;
const AT_ONCE_PER_HOST = 4;

/**
 * So many wait here for one host; more are let go, and come again when the store's hold on them
 * ends.
 */
const WAITING_PER_HOST = 2000;

/** Bodies in memory, characters: new ones are claimed while fewer are here. */
const BODIES = 64 * 1024 * 1024;

/**
 * From the start of a send to the note of its end, ms: a delivery held by the store for less is not
 * begun.
 */
export const SEND_MS = DELIVERY_TIMEOUT_MS + 2000;

/** Deliveries of this server that wait or are under way. */
export interface DeliveryQueue {
	/** Takes it in, unless it is here already or too many wait for its host. */
	add(delivery: Delivery, heldUntil: number): void;
	/** The next one that may begin, hosts in turn; it is then under way. */
	next(now: number): Delivery | undefined;
	/** One under way is over. */
	done(delivery: Delivery): void;
	/** Forgets those that wait and are not held long enough any more. */
	dropLate(now: number): void;
	/** Characters of bodies that may still come in. */
	readonly room: number;
	readonly waiting: number;
}

interface Host {
	waiting: { delivery: Delivery; heldUntil: number }[];
	underWay: number;
}

/**
 * Host and port of a webhook's URL: all of it that may be shown, because path and query may hold
 * secrets.
 */
export function hostOf(url: string): string {
	return URL.parse(url)?.host ?? "";
}

/** An empty queue. */
export function deliveryQueue(): DeliveryQueue {
	const hosts = new Map<string, Host>();
	const here = new Set<string>();
	let room = BODIES;
	let waiting = 0;
	let underWay = 0;

	function leave({ id, body }: Delivery): void {
		here.delete(id);
		room += sizeOf(body);
	}

	function dropLate(host: Host, now: number): void {
		while (host.waiting[0] && host.waiting[0].heldUntil - now < SEND_MS) {
			leave(host.waiting.shift()!.delivery);
			waiting -= 1;
		}
	}

	return {
		add(delivery, heldUntil) {
			if (here.has(delivery.id)) return;
			const name = hostOf(delivery.url);
			const host = hosts.get(name) ?? { waiting: [], underWay: 0 };
			if (host.waiting.length >= WAITING_PER_HOST) return;
			hosts.set(name, host);
			host.waiting.push({ delivery, heldUntil });
			here.add(delivery.id);
			waiting += 1;
			room -= sizeOf(delivery.body);
		},
		next(now) {
			if (underWay >= AT_ONCE) return undefined;
			for (const [name, host] of hosts) {
				if (host.underWay >= AT_ONCE_PER_HOST) continue;
				dropLate(host, now);
				const first = host.waiting.shift();
				if (!first) continue;
				// To the end, so that all hosts get their turn when all sends are taken.
				hosts.delete(name);
				hosts.set(name, host);
				host.underWay += 1;
				underWay += 1;
				waiting -= 1;
				return first.delivery;
			}
			return undefined;
		},
		done(delivery) {
			const name = hostOf(delivery.url);
			const host = hosts.get(name)!;
			host.underWay -= 1;
			underWay -= 1;
			leave(delivery);
			if (host.underWay === 0 && host.waiting.length === 0) hosts.delete(name);
		},
		dropLate(now) {
			for (const [name, host] of hosts) {
				dropLate(host, now);
				if (host.underWay === 0 && host.waiting.length === 0) hosts.delete(name);
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
