/**
 * Deliveries in PostgreSQL: what the conformance suite cannot see, such as several servers that
 * claim at once.
 */
import { expect, it } from "vitest";
import type { NewDelivery } from "../../src/kernel/core/webhooks.ts";
import { LARGE_BYTES, stringOf } from "../../src/kernel/lib/json/json-text.ts";
import { insertDeliveries } from "../../src/kernel/store/postgres/rows/deliveries.ts";
import { statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import { place, type Place, webhooksAt } from "./postgres-place.ts";
import { T0 } from "./site.ts";

const HOLD = 30_000;
const delivery = (n: number, given: Partial<NewDelivery> = {}): NewDelivery => ({
	id: `msg_${n}`,
	endpoint: "a",
	job: `job-${n}`,
	url: "https://example.org/hook",
	receiver: "example.org",
	body: `{"n":${n}}`,
	createdAt: T0,
	...given,
});

async function add({ database }: Place, rows: readonly NewDelivery[]): Promise<void> {
	await database.write(({ run }) => insertDeliveries(run, rows));
}

it("D21: many are added by one statement, listed by their order, and come back as they were", async (test) => {
	const here = await place(test);
	const webhooks = webhooksAt(here);
	const large = Array.from({ length: 3 }, (_, index) =>
		new TextEncoder().encode(`${index === 0 ? '"' : ""}${"€".repeat(LARGE_BYTES)}${index === 2 ? '"' : ""}`),
	);
	const odd = "https://example.org/\u0000\ud800";
	await add(here, [
		delivery(1),
		delivery(2, { body: large, endpoint: "b" }),
		delivery(3, { url: odd, createdAt: T0 + 1 }),
	]);
	await add(here, []);
	expect((await webhooks.list({ limit: 9 })).deliveries.map(({ id }) => id)).toEqual(["msg_3", "msg_2", "msg_1"]);
	expect(await webhooks.find({ id: "msg_3" })).toEqual({
		id: "msg_3",
		endpoint: "a",
		job: "job-3",
		url: odd,
		state: "pending",
		tries: [],
		used: 0,
		createdAt: T0 + 1,
		dueAt: T0 + 1,
		bytes: 7,
	});
	const { due } = await webhooks.claim({ limit: 9, each: 9, skip: [], holdMs: HOLD, now: T0 });
	expect(due.map(({ id, dueAt }) => [id, dueAt])).toEqual([
		["msg_1", T0 + HOLD],
		["msg_2", T0 + HOLD],
	]);
	expect(due.map(({ bytes }) => bytes)).toEqual([7, 2 + 9 * LARGE_BYTES]);
	expect(await webhooks.body({ id: "msg_1" })).toBe('{"n":1}');
	const body = await webhooks.body({ id: "msg_2" });
	expect(body).toHaveLength(3);
	expect(stringOf(body ?? "")).toBe(`"${"€".repeat(3 * LARGE_BYTES)}"`);
});

it("D21: servers that claim at once share what is due, and none is claimed twice", async (test) => {
	const here = await place(test);
	await add(
		here,
		Array.from({ length: 300 }, (_, index) => delivery(index)),
	);
	const servers = [here.database, here.another(), here.another()].map((database) => webhooksAt({ ...here, database }));
	const claimed: string[] = [];
	for (let left = true; left; ) {
		const rounds = await Promise.all(
			servers.flatMap((webhooks) =>
				[1, 2].map(() => webhooks.claim({ limit: 17, each: 17, skip: [], holdMs: HOLD, now: T0 })),
			),
		);
		left = rounds.some(({ due }) => due.length > 0);
		claimed.push(...rounds.flatMap(({ due }) => due.map(({ id }) => id)));
	}
	expect(claimed).toHaveLength(300);
	expect(new Set(claimed).size).toBe(300);
});

it("D21: what another server holds is passed over, not waited for", async (test) => {
	const here = await place(test);
	await add(here, [delivery(1), delivery(2)]);
	const webhooks = webhooksAt({ ...here, database: here.another() });
	await here.database.write(async ({ run }) => {
		await run(statement("SELECT 1 FROM deliveries WHERE id = 'msg_1' FOR UPDATE"));
		expect(
			(await webhooks.claim({ limit: 9, each: 9, skip: [], holdMs: HOLD, now: T0 })).due.map(({ id }) => id),
		).toEqual(["msg_2"]);
	});
});

it("D21: a redelivery is signalled to this server's listeners and to other servers", async (test) => {
	const here = await place(test);
	const webhooks = webhooksAt(here);
	await add(here, [delivery(1)]);
	expect(await webhooks.redeliver({ id: "msg_1", now: T0 })).toBe("pending");
	expect([here.own, here.others]).toEqual([[], []]);
	await webhooks.tried({
		id: "msg_1",
		tried: { at: T0, tookMs: 1, status: 200 },
		state: "delivered",
	});
	expect(await webhooks.redeliver({ id: "msg_1", now: T0 })).toBe("due");
	expect([here.own, here.others]).toEqual([[{ kind: "delivery" }], [{ kind: "delivery" }]]);
});

it("D3: ids that no text of the database can equal are missing, not a fault", async (test) => {
	const here = await place(test);
	const webhooks = webhooksAt(here);
	for (const id of ["msg_\u0000", "\ud800"]) {
		expect(await webhooks.find({ id })).toBeUndefined();
		expect(await webhooks.redeliver({ id, now: T0 })).toBe("missing");
		expect(await webhooks.list({ job: id, endpoint: id, limit: 9 })).toEqual({ deliveries: [] });
	}
});

it.for([
	[{}, "deliveries_pkey"],
	[{ endpoint: "a" }, "deliveries_endpoint"],
	[{ job: "job-7" }, "deliveries_job"],
	[{ state: "pending" }, "deliveries_undelivered"],
] as const)("D39: the list of %j is read by an index, also by a plan for any values", async ([filter, index], test) => {
	const here = await place(test);
	await add(
		here,
		Array.from({ length: 5000 }, (_, n) => delivery(n, { endpoint: `e${n % 50}` })),
	);
	const plans: string[] = [];
	await here.database.write(async ({ run }) => {
		await run(statement("UPDATE deliveries SET state = 'delivered', due_at = NULL WHERE number % 100 <> 0"));
		await run(statement("ANALYZE deliveries"));
	});
	const spied = {
		...here.database,
		read: {
			run: async (asked: { text: string }, values: readonly unknown[] = []) => {
				const types = ["bigint", "bigint", ...values.slice(2).map(() => "text")];
				await here.database.write(async ({ run }) => {
					await run(statement("SET LOCAL plan_cache_mode = force_generic_plan"));
					await run(statement(`PREPARE listed (${types.join(", ")}) AS ${asked.text}`));
					const literals = values.map((value) => (typeof value === "number" ? value : `'${String(value)}'`));
					const { rows } = await run(statement(`EXPLAIN EXECUTE listed (${literals.join(", ")})`));
					plans.push(rows.flat().join("\n"));
					await run(statement("DEALLOCATE listed"));
				});
				return { rows: [], count: 0 };
			},
		},
	} as unknown as Place["database"];
	await webhooksAt({ ...here, database: spied }).list({ ...filter, limit: 20 });
	expect(plans).toEqual([expect.stringContaining(`Index Scan Backward using ${index}`)]);
});
