/** The queue of claimed deliveries: turns, bounds, and what is dropped (D21). */
import { describe, expect, it } from "vitest";
import { budgetLimits, type BudgetLimits, budgetMeters } from "../../kernel/core/budgets.ts";
import { receiverOf } from "../../kernel/core/webhooks.ts";
import type { DueDelivery } from "../../kernel/store/contract/webhooks.ts";
import { DeliveryQueue, SEND_MS } from "./delivery-queue.ts";

let made = 0;
const LONG = 1_000_000;
const MB = 1024 * 1024;

function delivery(host: string, { endpoint = "ep", bytes = 2, path = "x" } = {}): DueDelivery {
	made += 1;
	return {
		id: `msg_${made}`,
		endpoint,
		job: `j${made}`,
		url: `http://${host}/${path}`,
		state: "pending",
		tries: [],
		used: 0,
		createdAt: 0,
		bytes,
		inputBytes: 0,
	};
}

function queueOf(budgets: Partial<BudgetLimits> = {}): DeliveryQueue {
	return new DeliveryQueue(budgetMeters(budgetLimits(budgets)));
}

/** Those that may begin now. */
function begun(queue: DeliveryQueue, now = 0): DueDelivery[] {
	const all: DueDelivery[] = [];
	for (let one; (one = queue.next(now)); ) all.push(one);
	return all;
}

/** The receiver has answered once. */
function answered(queue: DeliveryQueue, host: string, endpoint = "ep"): void {
	const one = delivery(host, { endpoint });
	queue.add(one, LONG);
	expect(begun(queue)).toEqual([one]);
	queue.done(one, "answered");
}

const hosts = (all: readonly DueDelivery[]): string[] => all.map(({ url }) => receiverOf(url));

describe("delivery queue", () => {
	it("D21: one receiver gets four at once, in order, the next when one is over", () => {
		const queue = queueOf();
		const all = Array.from({ length: 6 }, () => delivery("a.example"));
		for (const each of all) queue.add(each, LONG);
		expect(begun(queue)).toEqual(all.slice(0, 4));
		expect(queue.waiting).toBe(2);
		queue.done(all[1]!, "answered");
		expect(begun(queue)).toEqual([all[4]]);
	});

	it("D21: ports of one host are receivers of their own", () => {
		expect(receiverOf("http://user:word@Hook.example:8080/path?q#h")).toBe("hook.example:8080");
		expect(receiverOf("https://hook.example:443/")).toBe("hook.example");
		expect(receiverOf("nonsense")).toBe("");
		expect(receiverOf(`http://${"x".repeat(5000)}/`)).toHaveLength(300);
	});

	it("D21: a receiver of several endpoints gets four at once in all, endpoints in turn", () => {
		const queue = queueOf();
		for (const endpoint of ["a", "b"])
			for (let n = 0; n < 4; n += 1) queue.add(delivery("shared.example", { endpoint }), LONG);
		expect(begun(queue).map(({ endpoint }) => endpoint)).toEqual(["a", "b", "a", "b"]);
	});

	it("D41: an endpoint with a thousand receivers that hang has its share; another's are sent at once", () => {
		const queue = queueOf();
		for (let n = 0; n < 1000; n += 1) queue.add(delivery(`h${n}.example`), LONG);
		expect(begun(queue)).toHaveLength(16);
		const other = delivery("b.example", { endpoint: "other" });
		queue.add(other, LONG);
		expect(begun(queue)).toEqual([other]);
	});

	it("D41: half of the senders is for receivers that answered, of an endpoint and of all", () => {
		const queue = queueOf({ webhookSenders: 44 });
		const good = Array.from({ length: 6 }, (_, n) => `good${n}.example`);
		for (const host of good) answered(queue, host);
		answered(queue, "third.example", "third");
		for (let n = 0; n < 20; n += 1)
			for (const endpoint of ["ep", "other"]) queue.add(delivery(`h${n}.example`, { endpoint }), LONG);
		const unproven = begun(queue).map(({ endpoint }) => endpoint);
		expect(unproven).toEqual(Array.from({ length: 22 }, (_, n) => (n % 2 === 0 ? "ep" : "other")));
		for (const host of good) for (let n = 0; n < 4; n += 1) queue.add(delivery(host), LONG);
		queue.add(delivery("third.example", { endpoint: "third" }), LONG);
		const proven = begun(queue).map(({ endpoint }) => endpoint);
		// Of its 32 the endpoint has 11 in flight already.
		expect(proven.filter((endpoint) => endpoint === "ep")).toHaveLength(21);
		expect(proven.slice(0, 2)).toEqual(["ep", "third"]);
	});

	it("D21: a receiver that was paused gets one at a time; what waits for it is dropped", () => {
		const queue = queueOf();
		const all = Array.from({ length: 6 }, () => delivery("a.example"));
		for (const each of all) queue.add(each, LONG);
		expect(begun(queue)).toHaveLength(4);
		queue.done(all[0]!, "unanswered");
		expect(begun(queue)).toEqual([all[4]]);
		queue.done(all[1]!, "paused");
		expect(queue.waiting).toBe(0);
		for (const each of all.slice(2, 5)) queue.done(each, "paused");
		for (const each of all) queue.add(each, LONG);
		expect(begun(queue)).toHaveLength(1);
		queue.done(all[0]!, "answered");
		expect(begun(queue)).toHaveLength(4);
	});

	it("D21: one that is held too short for a whole try is dropped, and may come again", () => {
		const queue = queueOf();
		const [first, second] = [delivery("a.example"), delivery("a.example")];
		queue.add(first, SEND_MS + 10);
		queue.add(second, SEND_MS + 100);
		expect(begun(queue, 11)).toEqual([second]);
		queue.add(first, 2 * LONG);
		expect(begun(queue, 11)).toEqual([first]);
	});

	it("D21: what is here already is not added again", () => {
		const queue = queueOf();
		const one = delivery("a.example");
		queue.add(one, LONG);
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([one]);
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([]);
		queue.done(one, "answered");
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([one]);
	});

	it("D21: so many wait for one receiver and no more, without taking room from another", () => {
		const queue = queueOf();
		for (let n = 0; n < 3000; n += 1) queue.add(delivery("a.example"), SEND_MS + 10);
		expect(queue.waiting).toBe(2000);
		const other = delivery("b.example");
		queue.add(other, LONG);
		expect(queue.waiting).toBe(2001);
		queue.dropLate(11);
		expect(queue.waiting).toBe(1);
		expect(begun(queue, 11)).toEqual([other]);
	});

	it("D41: an endpoint with long URLs is full, and only it", () => {
		const queue = queueOf();
		queue.add(delivery("b.example", { endpoint: "other" }), LONG);
		for (let n = 0; n < 65; n += 1) queue.add(delivery(`h${n}.example`, { path: "x".repeat(65_000) }), SEND_MS);
		expect(queue.full).toEqual(["ep"]);
		queue.dropLate(1);
		expect(queue.full).toEqual([]);
	});

	it("D41: bodies in flight are bounded, for each endpoint and for all, but one is always sent", () => {
		const queue = queueOf();
		const large = delivery("a.example", { bytes: 200 * MB });
		queue.add(large, LONG);
		queue.add(delivery("b.example", { bytes: 18 * MB }), LONG);
		expect(begun(queue)).toEqual([large]);
		queue.add(delivery("a.example", { bytes: 10 * MB, endpoint: "other" }), LONG);
		expect(begun(queue)).toEqual([]);
		queue.done(large, "answered");
		expect(hosts(begun(queue))).toEqual(["b.example", "a.example"]);
		// Of 32 MB, 16 are for receivers that answered.
		queue.add(delivery("c.example", { bytes: 10 * MB, endpoint: "other" }), LONG);
		expect(begun(queue)).toEqual([]);
		queue.add(delivery("a.example", { bytes: 12 * MB }), LONG);
		expect(hosts(begun(queue))).toEqual(["a.example"]);
		queue.add(delivery("a.example", { bytes: 12 * MB }), LONG);
		expect(begun(queue)).toEqual([]);
	});
});
