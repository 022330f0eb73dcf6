/**
 * Changes of one endpoint that other servers change at the same moment, or store in a way that this one cannot
 * read, and what a file says of a deleted one.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
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
function server(own: Store = store, events = eventBus(), shared = true): Endpoints {
	return new Endpoints(
		given({
			store: own,
			now: () => 1,
			clock: systemClock,
			random: randomBytes,
			hooks: {},
			events,
			encryption: sealing,
			background: { run: (_what: string, work: Promise<unknown>) => void (done = work) },
			cluster: { shared, leads: () => true },
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

it("D39: a comparison of a page of endpoints reads as a list does, without all that the store has", async () => {
	await server().create({ id: "ep" });
	let reads = 0;
	const list: Store["endpoints"]["list"] = () => {
		reads += 1;
		return store.endpoints.list();
	};
	const one = server({ ...store, endpoints: { ...store.endpoints, list } });
	await one.load([]);
	const before = reads;
	expect(await one.compare({ ep: {}, new: {} })).toEqual([
		{ id: "ep", isNew: false, changes: [] },
		{ id: "new", isNew: true, changes: [] },
	]);
	expect(reads).toBe(before);
});

it("D39: a comparison knows what another server has changed before it, and reads it once", async () => {
	const other = server();
	await other.create({ id: "ep" });
	const place = { reads: 0, version: "1" };
	const list: Store["endpoints"]["list"] = () => {
		place.reads += 1;
		return store.endpoints.list();
	};
	const cluster = { versions: async () => ({ endpoints: place.version, access: "" }) } as NonNullable<Store["cluster"]>;
	const one = server({ ...store, cluster, endpoints: { ...store.endpoints, list } });
	await one.load([]);
	await one.compare({ ep: {} });
	await other.update("ep", { workersMax: 7 });
	place.version = "2";
	const before = place.reads;
	for (let page = 0; page < 3; page += 1)
		expect(await one.compare({ ep: { workersMax: 7 } })).toEqual([{ id: "ep", isNew: false, changes: [] }]);
	expect(place.reads).toBe(before + 1);
});

it("D50: memory has as much of a version after its change as after a start", async () => {
	const alone = server(store, eventBus(), false);
	await alone.create({ id: "ep", env: { A: "1" } });
	const { endpoint } = await alone.update("ep", { env: { A: "2" } });
	const known = alone.versions.of({ endpoint, createdAt: 1 });
	const started = server(store, eventBus(), false);
	await started.load([]);
	expect(known).toEqual(started.versions.of({ endpoint, createdAt: 1 }));
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

/** An endpoint as a `sluice.yaml` has it. */
function ofFile(id: string): Endpoint {
	const read = readEndpoint(id, { name: "of the file" });
	if (!read.ok) throw new Error("The settings of the test are bad.");
	return read.endpoint;
}

/** Reads what is stored, and does what follows from it. */
async function seen(own: Endpoints): Promise<void> {
	own.refresh();
	await done;
	await done;
}

const forget = (id: string): Promise<unknown> => store.endpoints.forget({ id, now: 1 });

/** A server that starts while `ep` of its file is being deleted. */
async function startedInDeletion(events = eventBus()): Promise<{ own: Endpoints; other: Endpoints }> {
	const other = server();
	await other.create({ id: "ep", name: "before" });
	await other.create({ id: "unrelated" });
	await other.remove("ep");
	const own = server(store, events);
	await own.load([ofFile("ep")]);
	return { own, other };
}

it("D39: an endpoint of the file that is being deleted is made once that has ended", async () => {
	const { own } = await startedInDeletion();
	expect([own.has("ep"), await store.endpoints.list()]).toMatchObject([false, [{ removing: true }, {}]]);
	await forget("ep");
	await seen(own);
	expect(own.get("ep").name).toBe("of the file");
});

it("D27, D39: an endpoint of the file never replaces one made after its deletion", async () => {
	const events = eventBus();
	const { own, other } = await startedInDeletion(events);
	await forget("ep");
	await other.create({ id: "ep", name: "made later" });
	await seen(own);
	await other.remove("unrelated");
	await seen(own);
	await forget("unrelated");
	await seen(own);
	events.emit("store.back", {});
	await done;
	expect((await other.update("ep", {})).endpoint.name).toBe("made later");
	// Nor does it come back when that one is deleted.
	await other.remove("ep");
	await seen(own);
	await forget("ep");
	await seen(own);
	expect(await store.endpoints.list()).toEqual([]);
});

it("D27, D39: an endpoint of the file waits for its own deletion only, and is outrun by a creation", async () => {
	const other = server();
	await other.create({ id: "unrelated" });
	await other.create({ id: "ep" });
	await other.remove("ep");
	const { own: slow, puts } = outrun(() => other.create({ id: "ep", name: "made first" }).catch(() => {}));
	const own = server(slow);
	await own.load([ofFile("ep")]);
	await other.remove("unrelated");
	await seen(own);
	await forget("unrelated");
	await seen(own);
	expect(puts()).toBe(0);
	await forget("ep");
	await seen(own);
	expect([puts(), own.get("ep").name]).toEqual([1, "made first"]);
});

it("D39: a server alone also keeps what is made at the end of a deletion", async () => {
	const events = eventBus();
	let made: Promise<unknown> | undefined;
	events.on("endpoint.deleted", () => {
		made = own.replace("ep", { name: "made at once" }, { dryRun: false });
	});
	const own = server(store, events, false);
	await store.endpoints.put({ id: "ep", settings: "{}", now: 1 });
	await store.endpoints.remove({ id: "ep" });
	await own.load([ofFile("ep")]);
	const [removal] = own.services;
	const deleted = new Promise((resolve) => void events.on("endpoint.deleted", resolve));
	removal!.start();
	await deleted;
	await removal!.stop();
	await made;
	await done;
	expect(own.get("ep").name).toBe("made at once");
});

it("D39: a start goes on when an endpoint of its file is deleted in the middle of it", async () => {
	const other = server();
	await other.create({ id: "ep" });
	const { own: slow } = outrun(() => other.remove("ep").catch(() => {}));
	const own = server(slow);
	await own.load([ofFile("ep")]);
	expect(own.has("ep")).toBe(false);
	await forget("ep");
	await seen(own);
	expect(own.get("ep").name).toBe("of the file");
});

describe("D27: settings of another version that this server cannot read", () => {
	/** What a newer server stores of `ep`, which was `name: "known"`. */
	async function storedByNewer(): Promise<Endpoints> {
		const own = server();
		await own.create({ id: "ep", name: "known" });
		const { settings, secret } = (await store.endpoints.list())[0]!;
		const newer = '{"launcher":{"type":"future"}}';
		await store.endpoints.put({ id: "ep", before: { settings, secret }, settings: newer, now: 1 });
		await store.endpoints.pause({ id: "ep", paused: true });
		await seen(own);
		return own;
	}

	const stored = async () => JSON.parse((await store.endpoints.list())[0]!.settings) as object;

	it("are not changed from earlier ones: 409 with the reason", async () => {
		const own = await storedByNewer();
		const refused = { code: "endpoint_unreadable", message: expect.stringContaining("launcher.type") as string };
		for (const each of [own, server()]) {
			await expect(each.update("ep", patch)).rejects.toMatchObject(refused);
			await expect(each.renewWebhookSecret("ep")).rejects.toMatchObject(refused);
			await expect(each.create({ id: "ep" })).rejects.toMatchObject({ code: "endpoint_exists" });
		}
		expect(await stored()).toEqual({ launcher: { type: "future" } });
		// Until then the earlier ones hold.
		expect([own.get("ep").name, own.paused("ep")]).toEqual(["known", true]);
	});

	it("D39: are not replaced by a file whose endpoint waited for a deletion", async () => {
		const { own } = await startedInDeletion();
		await forget("ep");
		await store.endpoints.put({ id: "ep", settings: '{"launcher":{"type":"future"}}', now: 1 });
		await seen(own);
		expect(await stored()).toEqual({ launcher: { type: "future" } });
		expect(own.has("ep")).toBe(false);
	});

	it("are replaced as a whole", async () => {
		const own = await storedByNewer();
		await own.replace("ep", { name: "mended" }, { dryRun: false });
		expect(await stored()).toMatchObject({ name: "mended" });
		expect((await own.update("ep", patch)).endpoint).toMatchObject({ name: "mended", ...patch });
	});

	it("are replaced as a whole after a start", async () => {
		await storedByNewer();
		const own = server();
		await own.replace("ep", { name: "mended" }, { dryRun: false });
		expect((await own.update("ep", patch)).endpoint).toMatchObject({ name: "mended", ...patch });
	});
});
