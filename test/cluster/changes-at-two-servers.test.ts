/**
 * Two operators change one object, each at another server, at once: what they are answered and what is stored then is
 * that of one of the two orders (D27, D49).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { SHARED_OBJECTS, type SharedObject } from "./shared-objects.ts";

const TRIES = 3;

let group: Servers;
let a: TestServer;
let b: TestServer;
beforeAll(async () => {
	group = await servers();
	const config = { management: { launcher: "docker" } };
	a = await group.start({ config });
	b = await group.start({ config });
});
afterAll(() => group?.end());

type Operation = SharedObject["operations"][string];

const forgotten = (id: string): Promise<unknown> =>
	Promise.all([a, b].map((server) => server.next("endpoint.deleted", ({ endpoint }) => endpoint === id)));

/** `first` and then `second`; `late`: once the deletion of the first has ended. */
async function inOrder(
	{ make, state }: SharedObject,
	[first, second]: readonly [Operation, Operation],
	late: boolean,
): Promise<{ answers: unknown[]; state: unknown }> {
	const id = await make(a.url);
	const end = late ? forgotten(id) : undefined;
	const one = await first(a.url, id);
	if (one[0] === 200) await end;
	const two = await second(b.url, id);
	return { answers: [one, two], state: await state(b.url, id) };
}

async function atOnce(
	{ make, state }: SharedObject,
	[first, second]: readonly [Operation, Operation],
): Promise<{ answers: unknown[]; states: unknown[] }> {
	const id = await make(a.url);
	const answers = await Promise.all([first(a.url, id), second(b.url, id)]);
	return { answers, states: [await state(a.url, id), await state(b.url, id)] };
}

function pairsOf({ operations }: SharedObject): [string, string][] {
	const names = Object.keys(operations);
	return names.flatMap((one, at) => names.slice(at).map((two): [string, string] => [one, two]));
}

/** An id is free once the deletion of its endpoint has ended. */
const dependsOnTime = ({ endsLater }: SharedObject, first: string, second: string): boolean =>
	endsLater === true && first === "delete" && ["create", "put"].includes(second);

describe.each(Object.entries(SHARED_OBJECTS))("D27, D49: two changes at once of one %s", (_kind, object) => {
	it.each(pairsOf(object))("%s, %s: as in one of the two orders", async (one, two) => {
		const [first, second] = [object.operations[one]!, object.operations[two]!];
		const orders = [];
		for (const late of [false, true]) {
			if (!late || dependsOnTime(object, one, two)) orders.push(await inOrder(object, [first, second], late));
			if (late && !dependsOnTime(object, two, one)) continue;
			const { answers, state } = await inOrder(object, [second, first], late);
			orders.push({ answers: answers.toReversed(), state });
		}
		for (let n = 0; n < TRIES; n += 1) {
			const { answers, states } = await atOnce(object, [first, second]);
			expect(states[0]).toEqual(states[1]);
			expect(orders).toContainEqual({ answers, state: states[0] });
		}
	});
});
