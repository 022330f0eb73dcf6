/**
 * Claimed deliveries and whose turn it is (D21): endpoints in turn, within each its receivers in
 * turn. Half of the senders and of the bytes is for receivers that answered the last time, so that
 * those that hang, however many, delay only each other. Decision 0029.
 */
import type { BudgetMeters } from "../../budgets.ts";
import { DELIVERY_TIMEOUT_MS } from "../../core/delivery.ts";
import { sizeOf } from "../../core/json/json-text.ts";
import { receiverOf } from "../../core/receiver.ts";
import type { DueDelivery } from "../../store/contract/webhooks.ts";

/** Maximum sends in flight of one endpoint, and to one receiver (host and port). */
const PER_ENDPOINT = 32;
const PER_RECEIVER = 4;

/** Maximum bytes of bodies in flight, of all endpoints and of one; a single body may have more. */
const BYTES = 128 * 1024 * 1024;
const BYTES_PER_ENDPOINT = 32 * 1024 * 1024;

/** Maximum number that wait for one receiver of an endpoint; others are dropped, and claimed again later. */
const MAX_WAITING_PER_RECEIVER = 2000;

/** Maximum that waits for an endpoint, and for all, in characters of URLs and small bodies. */
const MAX_WAITING_PER_ENDPOINT = 4_000_000;
const MAX_WAITING = 32_000_000;

/** What a delivery counts beside these: the history of its attempts. */
const ROW_CHARACTERS = 1000;

/** Receivers whose last attempt is remembered. */
const MAX_REMEMBERED = 10_000;

/** Time from the start of a send to the record of its end, ms: a delivery held for less is not begun. */
export const SEND_MS = DELIVERY_TIMEOUT_MS + 2000;

/** How the last attempt at a receiver ended: `paused` after several without an answer. */
export type LastAttempt = "answered" | "unanswered" | "paused";

export interface DeliveryQueue {
	/** Adds it, unless it is already here or too many wait for its receiver. */
	add(delivery: DueDelivery, heldUntil: number): void;
	/** The next one to send. */
	next(now: number): DueDelivery | undefined;
	/** Its send has ended; without `last` it was no attempt. */
	done(delivery: DueDelivery, last?: LastAttempt): void;
	/** Drops those that wait and are not held long enough any more. */
	dropLate(now: number): void;
	/** Endpoints with so much waiting that no more should be claimed. */
	readonly full: string[];
	readonly waiting: number;
}

/** The deliveries of one endpoint to one receiver. */
interface Lane {
	name: string;
	waiting: { delivery: DueDelivery; heldUntil: number }[];
	sending: number;
}

/** What is in flight of something with a bound. */
interface InFlight {
	count: number;
	bytes: number;
}

interface EndpointQueue {
	id: string;
	/** Lanes by receiver, those whose turn is next first. */
	answering: Map<string, Lane>;
	others: Map<string, Lane>;
	weight: number;
	all: InFlight;
	/** Deliveries in flight of those in {@link others}. */
	unproven: InFlight;
}

export function deliveryQueue({ webhookSenders }: Pick<BudgetMeters, "webhookSenders">): DeliveryQueue {
	const senders = webhookSenders.limit;
	const endpoints = new Map<string, EndpointQueue>();
	/** Calls of all endpoints together. */
	const calls = new Map<string, number>();
	const remembered = new Map<string, "answered" | "paused">();
	/** In flight: what each counts for, and its lane. */
	const sent = new Map<string, { lane: Lane; proven: boolean }>();
	const ids = new Set<string>();
	const unproven: InFlight = { count: 0, bytes: 0 };
	const all: InFlight = { count: 0, bytes: 0 };
	let weight = 0;
	let waiting = 0;

	function free(endpoint: EndpointQueue, delivery: DueDelivery): void {
		ids.delete(delivery.id);
		change(endpoint, -weightOf(delivery));
		waiting -= 1;
	}

	function newLane(endpoint: EndpointQueue, name: string): Lane {
		const lane: Lane = { name, waiting: [], sending: 0 };
		const answers = remembered.get(keyOf(endpoint.id, name)) === "answered";
		(answers ? endpoint.answering : endpoint.others).set(name, lane);
		return lane;
	}

	function change(endpoint: EndpointQueue, by: number): void {
		endpoint.weight += by;
		weight += by;
	}

	function dropLate(endpoint: EndpointQueue, lane: Lane, now: number): void {
		while (lane.waiting[0] && lane.waiting[0].heldUntil - now < SEND_MS) free(endpoint, lane.waiting.shift()!.delivery);
	}

	function dropUnused(endpoint: EndpointQueue, lane: Lane): void {
		if (lane.sending > 0 || lane.waiting.length > 0) return;
		endpoint.answering.delete(lane.name);
		endpoint.others.delete(lane.name);
		if (endpoint.answering.size + endpoint.others.size === 0) endpoints.delete(endpoint.id);
	}

	/** The first lane that may send. A delivery that does not fit blocks the rest of its group. */
	function firstOf(endpoint: EndpointQueue, proven: boolean, now: number): Lane | undefined {
		const share = proven ? 1 : 0.5;
		if (endpoint.all.count >= PER_ENDPOINT) return undefined;
		if (!proven && !(unproven.count < senders * share)) return undefined;
		if (!proven && !(endpoint.unproven.count < PER_ENDPOINT * share)) return undefined;
		for (const lane of (proven ? endpoint.answering : endpoint.others).values()) {
			dropLate(endpoint, lane, now);
			const [first] = lane.waiting;
			const atOnce = remembered.get(keyOf(endpoint.id, lane.name)) === "paused" ? 1 : PER_RECEIVER;
			if (!first || lane.sending >= atOnce || (calls.get(lane.name) ?? 0) >= PER_RECEIVER) continue;
			const size = first.delivery.bytes;
			const [ofEndpoint, ofAll] = proven ? [endpoint.all, all] : [endpoint.unproven, unproven];
			const fits =
				(ofEndpoint.bytes === 0 || ofEndpoint.bytes + size <= BYTES_PER_ENDPOINT * share) &&
				(ofAll.bytes === 0 || ofAll.bytes + size <= BYTES * share);
			return fits ? lane : undefined;
		}
		return undefined;
	}

	function begin(endpoint: EndpointQueue, lane: Lane, proven: boolean): DueDelivery {
		const { delivery } = lane.waiting.shift()!;
		change(endpoint, -weightOf(delivery));
		waiting -= 1;
		// To the end: the others have their turn.
		endpoints.delete(endpoint.id);
		endpoints.set(endpoint.id, endpoint);
		const lanes = proven ? endpoint.answering : endpoint.others;
		lanes.delete(lane.name);
		lanes.set(lane.name, lane);
		lane.sending += 1;
		calls.set(lane.name, (calls.get(lane.name) ?? 0) + 1);
		sent.set(delivery.id, { lane, proven });
		for (const each of proven ? [endpoint.all, all] : [endpoint.all, all, endpoint.unproven, unproven])
			add(each, 1, delivery.bytes);
		webhookSenders.take(1);
		return delivery;
	}

	/** Remembers how an attempt ended, and moves the lane to where it belongs. */
	function remember(endpoint: EndpointQueue, lane: Lane, last: LastAttempt): void {
		const key = keyOf(endpoint.id, lane.name);
		remembered.delete(key);
		if (last !== "unanswered") remembered.set(key, last);
		if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
		const [to, from] =
			last === "answered" ? [endpoint.answering, endpoint.others] : [endpoint.others, endpoint.answering];
		if (from.delete(lane.name)) to.set(lane.name, lane);
		if (last !== "paused") return;
		// The store puts them off when they are claimed again.
		for (const { delivery } of lane.waiting.splice(0)) free(endpoint, delivery);
	}

	return {
		add(delivery, heldUntil) {
			if (ids.has(delivery.id)) return;
			const name = receiverOf(delivery.url);
			const id = delivery.endpoint;
			const endpoint = endpoints.get(id) ?? newEndpoint(id);
			const lane = endpoint.answering.get(name) ?? endpoint.others.get(name) ?? newLane(endpoint, name);
			if (lane.waiting.length >= MAX_WAITING_PER_RECEIVER) return;
			endpoints.set(id, endpoint);
			lane.waiting.push({ delivery, heldUntil });
			ids.add(delivery.id);
			change(endpoint, weightOf(delivery));
			waiting += 1;
		},
		next(now) {
			if (all.count >= senders) {
				if (waiting > 0) webhookSenders.refuse();
				return undefined;
			}
			for (const endpoint of endpoints.values())
				for (const proven of [true, false]) {
					const lane = firstOf(endpoint, proven, now);
					if (lane) return begin(endpoint, lane, proven);
				}
			return undefined;
		},
		done(delivery, last) {
			const endpoint = endpoints.get(delivery.endpoint)!;
			const { lane, proven } = sent.get(delivery.id)!;
			sent.delete(delivery.id);
			ids.delete(delivery.id);
			lane.sending -= 1;
			const left = calls.get(lane.name)! - 1;
			if (left > 0) calls.set(lane.name, left);
			else calls.delete(lane.name);
			for (const each of proven ? [endpoint.all, all] : [endpoint.all, all, endpoint.unproven, unproven])
				add(each, -1, -delivery.bytes);
			webhookSenders.give(1);
			if (last) remember(endpoint, lane, last);
			dropUnused(endpoint, lane);
		},
		dropLate(now) {
			for (const endpoint of [...endpoints.values()])
				for (const lane of [...endpoint.answering.values(), ...endpoint.others.values()]) {
					dropLate(endpoint, lane, now);
					dropUnused(endpoint, lane);
				}
		},
		get full() {
			const most = weight < MAX_WAITING ? MAX_WAITING_PER_ENDPOINT : 1;
			return [...endpoints.values()].filter((each) => each.weight >= most).map(({ id }) => id);
		},
		get waiting() {
			return waiting;
		},
	};
}

function newEndpoint(id: string): EndpointQueue {
	return {
		id,
		answering: new Map(),
		others: new Map(),
		weight: 0,
		all: { count: 0, bytes: 0 },
		unproven: { count: 0, bytes: 0 },
	};
}

function add(inFlight: InFlight, count: number, bytes: number): void {
	inFlight.count += count;
	inFlight.bytes += bytes;
}

function weightOf({ url, body }: DueDelivery): number {
	return url.length + ROW_CHARACTERS + (body ? sizeOf(body) : 0);
}

function keyOf(endpoint: string, receiver: string): string {
	return `${endpoint} ${receiver}`;
}
