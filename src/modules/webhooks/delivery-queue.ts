/**
 * Claimed deliveries, and which is sent next (D21, decision 0029): round robin over the endpoints, within each over its
 * receivers (host and port). Half of the senders and bytes is for healthy receivers, whose last attempt was answered,
 * so that receivers that hang delay only each other.
 */
import type { BudgetMeters } from "../../kernel/core/budgets.ts";
import { POST_TIMEOUT_MS } from "../../kernel/post/contract.ts";
import { sizeOf } from "../../kernel/lib/json/json-text.ts";
import { receiverOf } from "../../kernel/core/webhooks.ts";
import type { DueDelivery } from "../../kernel/store/contract/webhooks.ts";
import { EndpointQueue, type Lane, Sends } from "./endpoint-queue.ts";

/** Maximum sends in flight of one endpoint, and to one receiver. */
const PER_ENDPOINT = 32;
const PER_RECEIVER = 4;

/** Bytes of bodies in flight, of all endpoints and of one; a single body may have more. */
const BYTES = 128 * 1024 * 1024;
const BYTES_PER_ENDPOINT = 32 * 1024 * 1024;

/** Maximum deliveries that wait for one receiver; further ones are dropped, and claimed again later. */
const MAX_WAITING_PER_RECEIVER = 2000;

/** Characters of URLs and small bodies that wait for one endpoint, and for all. */
const MAX_WAITING_PER_ENDPOINT = 4_000_000;
const MAX_WAITING = 32_000_000;

/** Characters that a delivery counts in addition, for the history of its attempts. */
const ROW_CHARACTERS = 1000;

/** Maximum receivers that are remembered; a forgotten one is not healthy until it answers. */
const MAX_REMEMBERED = 10_000;

/** Time from the start of a send to the record of its end: a delivery held for less is not begun. */
export const SEND_MS = POST_TIMEOUT_MS + 2000;

/** `paused`: after several attempts without an answer. */
export type LastAttempt = "answered" | "unanswered" | "paused";

export class DeliveryQueue {
	readonly #senders: BudgetMeters["webhookSenders"];
	/** Queues by endpoint, in the order in which they are served. */
	readonly #endpoints = new Map<string, EndpointQueue>();
	/** Sends to each receiver, of all endpoints. */
	readonly #calls = new Map<string, number>();
	readonly #remembered = new Map<string, "answered" | "paused">();
	readonly #inFlight = new Map<string, { lane: Lane; healthy: boolean }>();
	readonly #ids = new Set<string>();
	readonly #sends: Sends;
	#weight = 0;
	#waiting = 0;

	constructor({ webhookSenders }: Pick<BudgetMeters, "webhookSenders">) {
		this.#senders = webhookSenders;
		this.#sends = new Sends(webhookSenders.limit, BYTES);
	}

	get waiting(): number {
		return this.#waiting;
	}

	/** Endpoints with too much waiting to claim more. */
	get full(): string[] {
		const most = this.#weight < MAX_WAITING ? MAX_WAITING_PER_ENDPOINT : 1;
		return [...this.#endpoints.values()].filter((each) => each.weight >= most).map(({ id }) => id);
	}

	/** Adds a delivery, unless it is already queued or its receiver has too many waiting. */
	add(delivery: DueDelivery, heldUntil: number): void {
		if (this.#ids.has(delivery.id)) return;
		const name = receiverOf(delivery.url);
		const endpoint = this.#endpoints.get(delivery.endpoint) ?? this.#newEndpoint(delivery.endpoint);
		const lane = endpoint.lane(name) ?? this.#newLane(endpoint, name);
		if (lane.waiting.length >= MAX_WAITING_PER_RECEIVER) return;
		this.#endpoints.set(endpoint.id, endpoint);
		lane.waiting.push({ delivery, heldUntil });
		this.#ids.add(delivery.id);
		this.#count(endpoint, delivery, 1);
	}

	/** The returned delivery is in flight until `done`. */
	next(now: number): DueDelivery | undefined {
		if (!this.#sends.all.hasSender()) {
			if (this.#waiting > 0) this.#senders.refuse();
			return undefined;
		}
		for (const endpoint of this.#endpoints.values())
			for (const healthy of [true, false]) {
				const lane = this.#nextLane(endpoint, healthy, now);
				if (lane) return this.#begin(endpoint, lane, healthy);
			}
		return undefined;
	}

	/** Ends a send. Without `last` it was not an attempt. */
	done(delivery: DueDelivery, last?: LastAttempt): void {
		const endpoint = this.#endpoints.get(delivery.endpoint)!;
		const { lane, healthy } = this.#inFlight.get(delivery.id)!;
		this.#inFlight.delete(delivery.id);
		this.#ids.delete(delivery.id);
		lane.sending -= 1;
		const left = this.#calls.get(lane.name)! - 1;
		if (left > 0) this.#calls.set(lane.name, left);
		else this.#calls.delete(lane.name);
		for (const sends of [endpoint.sends, this.#sends]) sends.add(healthy, -1, -delivery.bytes);
		this.#senders.give(1);
		if (last) this.#remember(endpoint, lane, last);
		this.#dropUnused(endpoint, lane);
	}

	/** Drops deliveries whose attempt could outlast their hold: they are claimed again later. */
	dropLate(now: number): void {
		for (const endpoint of [...this.#endpoints.values()])
			for (const lane of endpoint.lanes) {
				this.#dropLateOf(endpoint, lane, now);
				this.#dropUnused(endpoint, lane);
			}
	}

	#newEndpoint(id: string): EndpointQueue {
		return new EndpointQueue(id, new Sends(PER_ENDPOINT, BYTES_PER_ENDPOINT));
	}

	#newLane(endpoint: EndpointQueue, name: string): Lane {
		const lane: Lane = { name, waiting: [], sending: 0 };
		endpoint.group(this.#remembered.get(keyOf(endpoint, name)) === "answered").set(name, lane);
		return lane;
	}

	#count(endpoint: EndpointQueue, { url, body }: DueDelivery, by: 1 | -1): void {
		const weight = by * (url.length + ROW_CHARACTERS + (body ? sizeOf(body) : 0));
		endpoint.weight += weight;
		this.#weight += weight;
		this.#waiting += by;
	}

	#drop(endpoint: EndpointQueue, delivery: DueDelivery): void {
		this.#ids.delete(delivery.id);
		this.#count(endpoint, delivery, -1);
	}

	#dropLateOf(endpoint: EndpointQueue, { waiting }: Lane, now: number): void {
		while (waiting[0] && waiting[0].heldUntil - now < SEND_MS) this.#drop(endpoint, waiting.shift()!.delivery);
	}

	#dropUnused(endpoint: EndpointQueue, lane: Lane): void {
		if (lane.sending > 0 || lane.waiting.length > 0) return;
		endpoint.healthy.delete(lane.name);
		endpoint.others.delete(lane.name);
		if (endpoint.lanes.length === 0) this.#endpoints.delete(endpoint.id);
	}

	/** Returns the next delivery of an endpoint. One that does not fit blocks the rest of its group. */
	#nextLane(endpoint: EndpointQueue, healthy: boolean, now: number): Lane | undefined {
		const bounds = [endpoint.sends, this.#sends].map((sends) => (healthy ? sends.all : sends.others));
		if (!endpoint.sends.all.hasSender() || !bounds.every((each) => each.hasSender())) return undefined;
		for (const lane of endpoint.group(healthy).values()) {
			this.#dropLateOf(endpoint, lane, now);
			const [first] = lane.waiting;
			const atOnce = this.#remembered.get(keyOf(endpoint, lane.name)) === "paused" ? 1 : PER_RECEIVER;
			if (!first || lane.sending >= atOnce || (this.#calls.get(lane.name) ?? 0) >= PER_RECEIVER) continue;
			return bounds.every((each) => each.hasRoom(first.delivery.bytes)) ? lane : undefined;
		}
		return undefined;
	}

	#begin(endpoint: EndpointQueue, lane: Lane, healthy: boolean): DueDelivery {
		const { delivery } = lane.waiting.shift()!;
		this.#count(endpoint, delivery, -1);
		moveToEnd(this.#endpoints, endpoint.id, endpoint);
		moveToEnd(endpoint.group(healthy), lane.name, lane);
		lane.sending += 1;
		this.#calls.set(lane.name, (this.#calls.get(lane.name) ?? 0) + 1);
		this.#inFlight.set(delivery.id, { lane, healthy });
		for (const sends of [endpoint.sends, this.#sends]) sends.add(healthy, 1, delivery.bytes);
		this.#senders.take(1);
		return delivery;
	}

	#remember(endpoint: EndpointQueue, lane: Lane, last: LastAttempt): void {
		const key = keyOf(endpoint, lane.name);
		this.#remembered.delete(key);
		if (last !== "unanswered") this.#remembered.set(key, last);
		if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.delete(this.#remembered.keys().next().value!);
		const healthy = last === "answered";
		if (endpoint.group(!healthy).delete(lane.name)) endpoint.group(healthy).set(lane.name, lane);
		if (last === "paused") for (const { delivery } of lane.waiting.splice(0)) this.#drop(endpoint, delivery);
	}
}

/** Moves an entry to the end, so that the others are served first. */
function moveToEnd<K, V>(map: Map<K, V>, key: K, value: V): void {
	map.delete(key);
	map.set(key, value);
}

function keyOf({ id }: EndpointQueue, receiver: string): string {
	return `${id} ${receiver}`;
}
