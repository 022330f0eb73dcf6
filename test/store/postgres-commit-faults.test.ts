/**
 * A connection to PostgreSQL is cut while its COMMIT is in flight: an operation happens once, and
 * the caller learns whether it did or that this is unknown.
 */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import type { Signal } from "../../src/kernel/store/contract/store.ts";
import { siteOf, T0, LEASE } from "./site.ts";
import { until } from "../support/until.ts";
import { place, type Place, printTime, timed, TOLD_MS, untilAnswered } from "./postgres-proxied.ts";

/**
 * Commits of changed jobs wait for a lock that the test holds, so that their connection can be cut
 * right then.
 */
async function gate({ admin }: Place): Promise<{ waited: () => Promise<number>; open: () => Promise<void> }> {
	await admin.query(`
    CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER gate AFTER INSERT OR UPDATE ON jobs
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
    SELECT pg_advisory_lock(4711)`);
	return {
		/** The backend whose COMMIT waits. */
		async waited() {
			const { pid } = await until("a COMMIT that waits", async () => {
				const { rows } = await admin.query<{ pid: number }>(
					"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted " +
						"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
				);
				return rows[0];
			});
			return pid;
		},
		open: async () => void (await admin.query("SELECT pg_advisory_unlock(4711)")),
	};
}

describe("a connection is cut while its COMMIT is in flight", () => {
	it("committed: the caller gets the answer, and it was done once", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { waited, open } = await gate(all);
		const inserted = site.insert();
		await waited();
		all.proxy.cut();
		await open();
		const answer = await inserted;
		expect(answer).toMatchObject({ ok: true });
		expect(answer).not.toHaveProperty("repeated");
		expect(await siteOf(all.other).store.jobs.counts({ endpoint: site.endpoint, now: T0 })).toMatchObject({
			inQueue: 1,
		});
	});

	it("not committed: it is done again, once", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { waited, open } = await gate(all);
		const inserted = site.insert();
		await all.admin.query("SELECT pg_terminate_backend($1)", [await waited()]);
		await waited();
		await open();
		expect(await inserted).toMatchObject({ ok: true });
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
	});

	/**
	 * Lets a call's connection be cut in its COMMIT, and nothing through until it has been refused.
	 * `end`: what becomes of the commit then.
	 */
	async function unheard(all: Place, call: () => Promise<unknown>, end: "committed" | "undone"): Promise<void> {
		const { waited, open } = await gate(all);
		const asked = timed(call);
		const pid = await waited();
		all.proxy.refuse();
		all.proxy.cut();
		if (end === "undone") await all.admin.query("SELECT pg_terminate_backend($1)", [pid]);
		await open();
		const { fault, ms } = await asked;
		expect(fault).toMatchObject({ why: "unreachable", unsure: true });
		expect(ms).toBeLessThan(TOLD_MS + 200);
	}

	it("and is unreachable for longer: the outcome is unknown to the caller, and true in the database", async () => {
		const all = await place();
		const site = siteOf(all.store);
		await unheard(all, () => site.insert(), "committed");
		await all.proxy.pass();
		await untilAnswered(() => site.counts());
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
		const [[first], second] = [await site.takeIds(), await site.takeIds({ worker: "w2" })];
		expect([typeof first, second]).toEqual(["string", []]);
	});

	it("D16: jobs that it handed out go back automatically, in order, without a loss, at any later time", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const ids = [(await site.add()).id, (await site.add()).id, (await site.add()).id];
		await unheard(all, () => site.take({ limit: 2 }), "committed");
		expect(await all.other.jobs.counts({ endpoint: site.endpoint, now: T0 })).toMatchObject({
			inQueue: 1,
			inProgress: 2,
		});
		const back: Signal[] = [];
		const signalled = new Promise<void>((resolve) =>
			all.store.onSignal((signal) => signal.kind === "queued" && back.push(signal) === 2 && resolve()),
		);
		const began = performance.now();
		await all.proxy.pass();
		await signalled;
		printTime("jobs of a lost hand-out are back after", performance.now() - began);
		const later = T0 + LEASE + 1;
		expect(await site.counts(later)).toMatchObject({ inQueue: 3, inProgress: 0, retried: 0 });
		expect(await site.attempts(ids[0]!)).toMatchObject([{ attempt: 1, end: "released", open: false }]);
		expect(await site.takeIds({ limit: 3, now: later })).toEqual(ids);
		expect(await site.get(ids[0]!, later)).toMatchObject({
			job: { attempt: 2, losses: 0, worker: "w1" },
		});
	});

	it("D16: a hand-out that was undone takes nothing from the workers that got the jobs meanwhile", async () => {
		const all = await place();
		const site = siteOf(all.store);
		const { id } = await site.add();
		await unheard(all, () => site.take(), "undone");
		const { jobs } = await all.other.jobs.claim({
			endpoint: site.endpoint,
			worker: "w1",
			limit: 1,
			maxBytes: 1000,
			now: T0,
		});
		expect(jobs).toMatchObject([{ job: { id, attempt: 1 } }]);
		await all.proxy.pass();
		await untilAnswered(() => site.counts());
		// Its own connection asks in this pause what became of it.
		await systemClock.sleep(1000);
		expect(await site.get(id)).toMatchObject({
			job: { state: "IN_PROGRESS", worker: "w1", attempt: 1 },
		});
	});
});
