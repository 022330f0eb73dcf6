/** Sessions of the console: how long they last, what ends them, what is read of the store (D31). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { backgroundTasks } from "../../kernel/system/loop.ts";
import type { SessionRow, SessionStore } from "../../kernel/store/contract/access.ts";
import type { KeyHolder } from "../../kernel/engine/access/keys.ts";
import {
	type BegunSession,
	MAX_SESSIONS,
	SESSION_MAX_MS,
	SESSION_MS,
	createSessions,
	type Sessions,
} from "./sessions.ts";

const PEER = { remoteAddress: "192.0.2.1" };
const MINUTE = 60_000;
let present = 1_800_000_000_000;

/** A store in memory that counts its calls. */
function memory(): SessionStore & { calls: string[]; rows: Map<string, SessionRow> } {
	const rows = new Map<string, SessionRow>();
	const calls: string[] = [];
	const store: SessionStore = {
		insert: async ({ row }) => void rows.set(row.id, { ...row }),
		find: async ({ hash }) => {
			const found = [...rows.values()].find((row) => row.hash === hash);
			return found && { ...found };
		},
		list: async () => [...rows.values()],
		used: async ({ id, now, address }) => void Object.assign(rows.get(id) ?? {}, { lastUsedAt: now, address }),
		remove: async ({ id }) => rows.delete(id),
		removeAll: async () => 0,
	};
	const counted = Object.entries(store).map(([name, method]) => [
		name,
		(q: never) => {
			calls.push(name);
			return (method as (q: never) => unknown)(q);
		},
	]);
	return { ...(Object.fromEntries(counted) as SessionStore), calls, rows };
}

/** Sessions of a server: its store, the keys it knows, whether guesses are over their budget. */
function server({
	store = memory(),
	keys = { k: 7 } as Record<string, number>,
	until = Infinity,
	strained = false,
	storeId = "a",
} = {}): Sessions & { begun: () => Promise<BegunSession>; store: ReturnType<typeof memory> } {
	const holder = async (id: string): Promise<KeyHolder | undefined> =>
		keys[id] === undefined || present >= until
			? undefined
			: {
					principal: { keyId: id, name: id.toUpperCase(), scopes: ["read"] },
					hash: String(keys[id]),
					until,
				};
	const made = createSessions(
		given({
			store: { sessions: store },
			keys: { holder },
			storeId,
			now: () => present,
			random: randomBytes,
			strained: () => strained,
			background: backgroundTasks((_, error) => expect.fail(String(error))),
		}),
	);
	const begun = async (): Promise<BegunSession> =>
		await made.begin((await holder("k"))!, { byLink: false, client: "curl/8", peer: PEER });
	return { ...made, begun, store };
}

it("D31: a session lasts 12 h from its last use, which is stored at most once a minute", async () => {
	const at = server();
	const { id, token, pageToken } = await at.begun();
	const resume = () => at.resume(token, pageToken, PEER);
	for (const [ms, stored] of [
		[MINUTE - 1, 0],
		[1, 1],
		[MINUTE - 1, 1],
		[1, 2],
	] as const) {
		present += ms;
		expect(await resume()).toMatchObject({ id, principal: { keyId: "k" } });
		expect(at.store.calls.filter((name) => name === "used")).toHaveLength(stored);
	}
	present += SESSION_MS - 1;
	expect(await at.resume(token, pageToken)).toBeDefined();
	expect(await resume()).toBeDefined();
	present += SESSION_MS;
	expect(await resume()).toBeUndefined();
	expect(await at.list()).toEqual([]);
});

it("D31: it lasts 7 days at most, however much it is used, and not beyond its key", async () => {
	for (const [length, until] of [
		[SESSION_MAX_MS, Infinity],
		[3_600_000, present + SESSION_MAX_MS + 3_600_000],
	] as const) {
		const at = server({ until });
		const { token, pageToken, until: end } = await at.begun();
		expect(end).toBe(present + length);
		while (present < end - 1) {
			present = Math.min(present + SESSION_MS - 1, end - 1);
			expect(await at.resume(token, pageToken, PEER)).toBeDefined();
		}
		present = end;
		expect(await at.resume(token, pageToken, PEER)).toBeUndefined();
	}
});

it("D31: the store is read once for each session, not for each request", async () => {
	const at = server();
	const { token, pageToken } = await at.begun();
	for (let n = 0; n < 100; n += 1) await at.resume(token, pageToken, PEER);
	expect(at.store.calls).toEqual(["insert", "find"]);
	at.cached.forget();
	await at.resume(token, pageToken, PEER);
	expect(at.store.calls).toEqual(["insert", "find", "find"]);
});

it("D31: servers with one store take each other's sessions under one name, and others neither", async () => {
	const one = server();
	const two = server({ store: one.store });
	const { token, pageToken } = await one.begun();
	expect(await two.resume(token, pageToken, PEER)).toMatchObject({ principal: { keyId: "k" } });
	expect(await server().resume(token, pageToken, PEER)).toBeUndefined();
	expect([two.cookie, server({ storeId: "b" }).cookie]).toEqual([one.cookie, expect.not.stringContaining(one.cookie)]);
	// Its use at the first is not known to the second, which asks the store before it refuses.
	present += SESSION_MS - 1;
	await one.resume(token, pageToken, PEER);
	present += SESSION_MS - 1;
	expect(await two.resume(token, pageToken, PEER)).toBeDefined();
});

it("D31: one that was ended is refused, here at once and elsewhere when its server has forgotten it", async () => {
	const one = server();
	const two = server({ store: one.store });
	const [first, second] = [await one.begun(), await one.begun()];
	for (const at of [one, two])
		for (const { token, pageToken } of [first, second]) expect(await at.resume(token, pageToken, PEER)).toBeDefined();
	await one.end(first.id);
	expect(await one.resume(first.token, first.pageToken, PEER)).toBeUndefined();
	two.cached.forget();
	expect(await two.resume(first.token, first.pageToken, PEER)).toBeUndefined();
	expect(await two.resume(second.token, second.pageToken, PEER)).toBeDefined();
	await expect(one.end(first.id)).rejects.toMatchObject({ code: "session_not_found" });
});

it("D31: a read that began before a session was ended does not bring it back", async () => {
	const at = server();
	const { id, token, pageToken } = await at.begun();
	const { find } = at.store;
	const reading = Promise.withResolvers<void>();
	at.store.find = async (q) => {
		const row = await find(q);
		await reading.promise;
		return row;
	};
	const slow = server({ store: at.store });
	const during = slow.resume(token, pageToken, PEER);
	await slow.end(id);
	reading.resolve();
	await during;
	expect(await slow.resume(token, pageToken, PEER)).toBeUndefined();
});

it("D31: a key that has ended, or was changed under its id, ends them", async () => {
	const { store, begun } = server();
	const { token, pageToken } = await begun();
	expect(await server({ store, keys: {} }).resume(token, pageToken, PEER)).toBeUndefined();
	expect(await server({ store, keys: {} }).list()).toEqual([]);
	expect(await server({ store, keys: { k: 8 } }).resume(token, pageToken, PEER)).toBeUndefined();
	expect(await server({ store }).resume(token, pageToken, PEER)).toBeDefined();
});

it("D31: no other page token fits, nor any other token", async () => {
	const at = server();
	const { token, pageToken } = await at.begun();
	for (const page of ["", "0", `${pageToken}0`, "04".repeat(24), token])
		expect(await at.resume(token, page, PEER)).toBeUndefined();
	for (let n = 0; n < token.length; n += 1) {
		const other = token.slice(0, n) + (token[n] === "a" ? "b" : "a") + token.slice(n + 1);
		expect(await at.resume(other, pageToken, PEER), String(n)).toBeUndefined();
	}
	const [{ hash, page, mark } = expect.fail()] = at.store.rows.values();
	for (const stored of [hash, page, mark]) expect(await at.resume(stored, pageToken, PEER)).toBeUndefined();
});

it("D41: beyond the budget of wrong keys unknown tokens cost one read a second together", async () => {
	const { store, begun } = server();
	const { token, pageToken } = await begun();
	const at = server({ store, strained: true });
	for (let n = 0; n < 50; n += 1) expect(await at.resume(`guess-${n}`, pageToken, PEER)).toBeUndefined();
	expect(await at.resume(token, pageToken, PEER)).toBeDefined();
	expect(store.calls).toEqual(["insert", "list"]);
});

it("D31: the list has no secret; the store is asked to bound the sessions of a key", async () => {
	const at = server();
	const { insert } = at.store;
	let atMost = 0;
	at.store.insert = (q) => {
		atMost = q.atMost;
		return insert(q);
	};
	const { id } = await server({ store: at.store }).begun();
	expect(atMost).toBe(MAX_SESSIONS);
	expect(await at.list()).toEqual([
		{
			id,
			keyId: "k",
			keyName: "K",
			byLink: false,
			createdAt: present,
			lastUsedAt: present,
			until: present + SESSION_MS,
			address: PEER.remoteAddress,
			client: "curl/8",
		},
	]);
});
