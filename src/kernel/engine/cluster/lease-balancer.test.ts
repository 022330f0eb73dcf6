/** How launched endpoints are spread over the servers that live. */
import { describe, expect, it } from "vitest";
import { leaseBalancer, type Movable } from "./lease-balancer.ts";

/**
 * Servers that take and give by turns until no server changes anything; `costs` of endpoints that
 * are not free to move.
 */
function group({ endpoints, costs = {} }: { endpoints: string[]; costs?: Record<string, Movable> }) {
	let leases: { name: string; server: string }[] = [];
	const members = new Map<string, ReturnType<typeof leaseBalancer>>();
	const state = { now: 0, endpoints };

	function turn(me: string): void {
		const { take, maxEndpoints, give } = members.get(me)!({
			server: me,
			leases,
			servers: members.size,
			scale: "scale:",
			roles: ["sweep"],
			now: state.now,
		});
		leases = leases.filter(({ name, server }) => server !== me || !give.includes(name));
		const free = take.endpoints.filter((name) => !leases.some((lease) => lease.name === name)).slice(0, maxEndpoints);
		for (const name of [...take.roles, ...free]) leases.push({ name, server: me });
	}

	return {
		state,
		join: (id: string) =>
			void members.set(
				id,
				leaseBalancer({
					managedEndpoints: () => state.endpoints,
					movable: (endpoint) => costs[endpoint] ?? "free",
				}),
			),
		die(id: string) {
			members.delete(id);
			leases = leases.filter(({ server }) => server !== id);
		},
		turns(rounds = 3) {
			for (let round = 0; round < rounds; round += 1) for (const id of members.keys()) turn(id);
		},
		of: (id: string) => leases.filter(({ server }) => server === id).map(({ name }) => name.replace("scale:", "")),
		sizes: () =>
			[...members.keys()].map(
				(id) => leases.filter(({ name, server }) => server === id && name.startsWith("scale:")).length,
			),
		all: () => leases.map(({ name }) => name),
	};
}

const TEN = Array.from({ length: 10 }, (_, n) => `e${n}`);

describe("D28: endpoints over servers", () => {
	it("one server leads all, each of them once", () => {
		const g = group({ endpoints: TEN });
		g.join("a");
		g.turns();
		expect(g.all().toSorted()).toEqual([...TEN.map((id) => `scale:${id}`), "sweep"].toSorted());
	});

	it("no server takes more than its share of free leases while others live, even of those that cannot move", () => {
		const g = group({
			endpoints: TEN,
			costs: Object.fromEntries(TEN.map((id) => [id, "busy" as const])),
		});
		for (const id of ["a", "b"]) g.join(id);
		g.turns();
		expect(g.sizes()).toEqual([5, 5]);
	});

	it("those that join get their share of what costs nothing to move", () => {
		const g = group({ endpoints: TEN });
		g.join("a");
		g.turns();
		g.join("b");
		g.turns();
		expect(g.sizes()).toEqual([5, 5]);
		g.join("c");
		g.turns();
		expect(g.sizes().toSorted((x, y) => x - y)).toEqual([2, 4, 4]);
		expect(new Set(g.all()).size).toBe(11);
	});

	it("at rest nothing moves", () => {
		const g = group({ endpoints: TEN });
		for (const id of ["a", "b", "c"]) g.join(id);
		g.turns();
		const before = ["a", "b", "c"].map(g.of);
		g.turns();
		expect(["a", "b", "c"].map(g.of)).toEqual(before);
	});

	it("the others share what a dead one led", () => {
		const g = group({ endpoints: TEN });
		for (const id of ["a", "b", "c"]) g.join(id);
		g.turns();
		g.die("a");
		g.turns();
		expect(g.sizes()).toEqual([5, 5]);
		expect(new Set(g.all()).size).toBe(11);
	});

	it("work is never moved; idle workers one endpoint a minute", () => {
		const costs: Record<string, Movable> = {
			e0: "busy",
			e1: "busy",
			e2: "busy",
			e3: "idle",
			e4: "idle",
			e5: "idle",
		};
		const g = group({ endpoints: ["e0", "e1", "e2", "e3", "e4", "e5"], costs });
		g.join("a");
		g.turns();
		g.join("b");
		g.turns();
		expect(g.sizes()).toEqual([5, 1]);
		g.state.now += 59_999;
		g.turns();
		expect(g.sizes()).toEqual([5, 1]);
		g.state.now += 1;
		g.turns();
		expect(g.sizes()).toEqual([4, 2]);
		g.state.now += 60_000;
		g.turns();
		expect(g.sizes()).toEqual([3, 3]);
		g.state.now += 60_000;
		g.turns();
		expect(g.of("a")).toEqual(expect.arrayContaining(["e0", "e1", "e2"]));
	});

	it("an endpoint that is no more, or launches no workers any more, is given up", () => {
		const g = group({ endpoints: TEN });
		g.join("a");
		g.turns();
		g.state.endpoints = TEN.slice(1);
		g.turns();
		expect(g.of("a")).not.toContain("e0");
	});
});
