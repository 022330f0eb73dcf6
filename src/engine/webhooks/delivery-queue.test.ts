/** The queue of claimed deliveries: turns of the hosts, bounds, and what is let go (D21). */
import { describe, expect, it } from "vitest";
import { deliveryQueue, hostOf, SEND_MS } from "./delivery-queue.ts";
import type { Delivery } from "./delivery-queue.ts";

let made = 0;
const LONG = 1_000_000;

function delivery(host: string, body = "{}"): Delivery {
	made += 1;
	return {
		id: `msg_${made}`,
		endpoint: "ep",
		job: `j${made}`,
		url: `http://${host}/path?token=x`,
		state: "pending",
		tries: [],
		used: 0,
		createdAt: 0,
		body,
	};
}

/** Hosts of those that may begin now. */
function begun(queue: ReturnType<typeof deliveryQueue>, now = 0): Delivery[] {
	const all: Delivery[] = [];
	for (let one; (one = queue.next(now)); ) all.push(one);
	return all;
}

describe("delivery queue", () => {
	it("D21: one host gets four at once, in order, the next when one is over", () => {
		const queue = deliveryQueue();
		const all = Array.from({ length: 6 }, () => delivery("a.example"));
		for (const each of all) queue.add(each, LONG);
		expect(begun(queue)).toEqual(all.slice(0, 4));
		expect(queue.waiting).toBe(2);
		queue.done(all[1]!);
		expect(begun(queue)).toEqual([all[4]]);
	});

	it("D21: ports of one host are receivers of their own", () => {
		expect(hostOf("http://user:word@Hook.example:8080/path?q#h")).toBe("hook.example:8080");
		expect(hostOf("https://hook.example:443/")).toBe("hook.example");
		expect(hostOf("nonsense")).toBe("");
	});

	it("D21: all hosts get their turn when all sends are taken", () => {
		const queue = deliveryQueue();
		for (let host = 0; host < 20; host += 1)
			for (let n = 0; n < 10; n += 1) queue.add(delivery(`h${host}.example`), LONG);
		let open = begun(queue);
		expect(open).toHaveLength(64);
		const seen = new Set(open.map(({ url }) => hostOf(url)));
		for (let turn = 0; turn < 40; turn += 1) {
			queue.done(open.shift()!);
			const next = begun(queue);
			expect(next).toHaveLength(1);
			seen.add(hostOf(next[0]!.url));
			open = [...open, ...next];
		}
		expect(seen.size).toBe(20);
	});

	it("D21: one that is held too short for a whole try is let go, and may come again", () => {
		const queue = deliveryQueue();
		const [first, second] = [delivery("a.example"), delivery("a.example")];
		queue.add(first, SEND_MS + 10);
		queue.add(second, SEND_MS + 100);
		expect(begun(queue, 11)).toEqual([second]);
		queue.add(first, 2 * LONG);
		expect(begun(queue, 11)).toEqual([first]);
	});

	it("D21: what is here already is not taken in again", () => {
		const queue = deliveryQueue();
		const one = delivery("a.example");
		queue.add(one, LONG);
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([one]);
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([]);
		queue.done(one);
		queue.add(one, LONG);
		expect(begun(queue)).toEqual([one]);
	});

	it("D21: so many wait for one host and no more, without taking room from another; bodies are counted", () => {
		const queue = deliveryQueue();
		const { room } = queue;
		for (let n = 0; n < 3000; n += 1)
			queue.add(delivery("a.example", "x".repeat(100)), SEND_MS + 10);
		expect(queue.waiting).toBe(2000);
		expect(room - queue.room).toBe(200_000);
		const other = delivery("b.example");
		queue.add(other, LONG);
		expect(queue.waiting).toBe(2001);
		queue.dropLate(11);
		expect(queue.waiting).toBe(1);
		expect(begun(queue, 11)).toEqual([other]);
		queue.done(other);
		expect(queue.room).toBe(room);
		queue.add(delivery("c.example", "x".repeat(room + 5)), LONG);
		expect(queue.room).toBe(0);
	});
});
