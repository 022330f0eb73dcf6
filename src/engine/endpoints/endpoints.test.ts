/** Changes of one endpoint that other servers change at the same moment, and what a file says of a deleted one. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { eventBus } from "../../events.ts";
import { readEndpoint } from "../../launchers/endpoint-settings.ts";
import { encryption } from "../../secrets/encryption.ts";
import type { Store } from "../../store/contract/store.ts";
import { openSqlite } from "../../store/sqlite/open.ts";
import { systemClock } from "../../system/clock.ts";
import { Endpoints } from "./endpoints.ts";

let folder: string;
let store: Store;
let done: Promise<unknown>;
beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "sluice-endpoints-"));
	store = await openSqlite({ path: join(folder, "s.db") });
});
afterEach(async () => {
	await store.close();
	rmSync(folder, { recursive: true, force: true });
});

const sealing = encryption([randomBytes(32)], randomBytes);

/** The endpoints as one of several servers has them. */
function server(own: Store = store): Endpoints {
	return new Endpoints(
		given({
			store: own,
			now: () => 1,
			clock: systemClock,
			random: randomBytes,
			events: eventBus(),
			encryption: sealing,
			background: { run: (_what: string, work: Promise<unknown>) => void (done = work) },
			cluster: { shared: true, leads: () => true },
		}),
	);
}

/** A store where `before` runs in the middle of each change: after it was read, and before it is stored. */
function outrun(before: () => Promise<unknown>): { own: Store; puts: () => number } {
	let puts = 0;
	const put: Store["endpoints"]["put"] = async (q) => {
		puts += 1;
		await before();
		return await store.endpoints.put(q);
	};
	return { own: { ...store, endpoints: { ...store.endpoints, put } }, puts: () => puts };
}

const patch = { idleTimeout: 9 };

it("D27: a change that another server outruns is made again on what that one stored", async () => {
	const other = server();
	await other.create({ id: "ep" });
	let turns = 0;
	const { own } = outrun(async () => {
		if (turns < 2) await other.update("ep", { name: `turn ${(turns += 1)}`, env: { A: "1" } });
	});
	const changed = await server(own).update("ep", patch);
	expect(changed.endpoint).toMatchObject({ ...patch, name: "turn 2", env: { A: "1" } });
	expect(await other.update("ep", {})).toEqual(changed);
});

it("D27: endpoint_changed › 10 times outrun, nothing of it is stored", async () => {
	const other = server();
	await other.create({ id: "ep" });
	let turns = 0;
	const { own, puts } = outrun(() => other.update("ep", { name: `turn ${(turns += 1)}` }));
	const changed = server(own).update("ep", { ...patch, env: { A: "1" } });
	await expect(changed).rejects.toMatchObject({ code: "endpoint_changed" });
	expect(puts()).toBe(10);
	expect((await other.update("ep", {})).endpoint).toMatchObject({ name: "turn 10", idleTimeout: 5, env: {} });
	expect(await store.releases.heads()).toHaveLength(1);
});

it("D27, D39: a change that a deletion outruns is 404, a second creation 409", async () => {
	const other = server();
	await other.create({ id: "ep" });
	const removed = outrun(() => other.remove("ep").catch(() => {}));
	await expect(server(removed.own).update("ep", patch)).rejects.toMatchObject({ code: "endpoint_not_found" });
	const made = outrun(() => other.create({ id: "new" }).catch(() => {}));
	await expect(server(made.own).create({ id: "new" })).rejects.toMatchObject({ code: "endpoint_exists" });
});

it("D39: an endpoint of the file that is being deleted is made once that has ended", async () => {
	const other = server();
	await other.create({ id: "ep", name: "before" });
	await other.remove("ep");
	const read = readEndpoint("ep", { name: "of the file" });
	if (!read.ok) throw new Error("The settings of the test are bad.");
	const own = server();
	await own.load([read.endpoint]);
	expect([own.has("ep"), await store.endpoints.list()]).toMatchObject([false, [{ removing: true }]]);
	await store.endpoints.forget({ id: "ep", now: 1 });
	own.refresh();
	await done;
	await done;
	expect(own.get("ep").name).toBe("of the file");
});
