/** Sessions of the console: how long they last, and what ends them (D31). */
import { expect, it } from "vitest";
import type { KeyHolder } from "./keys.ts";
import { SESSION_MAX_MS, SESSION_MS, sessions } from "./sessions.ts";
import type { Sessions } from "./sessions.ts";

const PLACE = { path: "/", secure: false };
const TEN_MINUTES = 600_000;
let present = 1_800_000_000_000;

/** Sessions of a server: its secret, and the keys it knows. */
function server({
	secret = 1,
	keys = { k: 7 },
}: {
	secret?: number;
	keys?: Record<string, number>;
} = {}): Sessions {
	const holder = async (id: string): Promise<KeyHolder | undefined> =>
		keys[id] === undefined
			? undefined
			: {
					principal: { keyId: id, name: id, scopes: ["read"] },
					hash: new Uint8Array(32).fill(keys[id]),
				};
	return sessions({
		keys: { holder },
		sealKey: new Uint8Array(32).fill(secret),
		now: () => present,
		random: (bytes) => new Uint8Array(bytes).fill(3),
	});
}

const PAGE = "03".repeat(24);

async function begun(at: Sessions = server()): Promise<string> {
	const { token, pageToken } = (await at.begin({ keyId: "k", place: PLACE }))!;
	expect(pageToken).toBe(PAGE);
	return token;
}

it("D31: a session lasts 12 h from its last use, which from 10 minutes on makes a new one", async () => {
	const one = server();
	const token = await begun(one);
	present += TEN_MINUTES - 1;
	expect((await one.resume(token, PAGE))?.renewed).toBeUndefined();
	present += 1;
	const { renewed } = (await one.resume(token, PAGE))!;
	expect(renewed).toMatchObject({ until: present + SESSION_MS, place: PLACE });
	present += SESSION_MS - TEN_MINUTES - 1;
	expect(await one.resume(token, PAGE)).toBeDefined();
	present += 1;
	expect(await one.resume(token, PAGE)).toBeUndefined();
	expect(await one.resume(renewed!.token, PAGE)).toBeDefined();
});

it("D31: it lasts 7 days at most, however much it is used", async () => {
	const one = server();
	const end = present + SESSION_MAX_MS;
	let token = await begun(one);
	for (; present < end - TEN_MINUTES; present += TEN_MINUTES + 7)
		token = (await one.resume(token, PAGE))!.renewed?.token ?? token;
	present = end - 1;
	expect(await one.resume(token, PAGE)).toMatchObject({ principal: { keyId: "k" } });
	expect((await one.resume(token, PAGE))!.renewed).toBeUndefined();
	present = end;
	expect(await one.resume(token, PAGE)).toBeUndefined();
});

it("D31: servers with one secret take each other's sessions under one name, and others neither", async () => {
	const token = await begun();
	expect(await server().resume(token, PAGE)).toMatchObject({ principal: { keyId: "k" } });
	expect(await server({ secret: 2 }).resume(token, PAGE)).toBeUndefined();
	expect(server().cookie).toBe(server().cookie);
	expect(server().cookie).not.toBe(server({ secret: 2 }).cookie);
});

it("D31: a key that has ended, or was changed under its id, ends them", async () => {
	const token = await begun();
	expect(await server({ keys: {} }).resume(token, PAGE)).toBeUndefined();
	expect(await server({ keys: { k: 8 } }).resume(token, PAGE)).toBeUndefined();
	expect(await server({ keys: {} }).begin({ keyId: "k", place: PLACE })).toBeUndefined();
});

it("D31: no other page token fits, also after it was renewed", async () => {
	const one = server();
	const token = await begun(one);
	present += TEN_MINUTES;
	const { renewed } = (await one.resume(token, PAGE))!;
	expect(await one.resume(renewed!.token, PAGE)).toBeDefined();
	for (const page of ["", "0", `${PAGE}0`, "04".repeat(24)])
		for (const each of [token, renewed!.token])
			expect(await one.resume(each, page)).toBeUndefined();
});

it("D31: each byte of a token counts", async () => {
	const token = await begun();
	for (let at = 0; at < token.length; at += 1) {
		const other = token[at] === "A" ? "B" : "A";
		// The last characters of base64 may hold spare bits: the text itself is compared.
		expect(
			await server().resume(token.slice(0, at) + other + token.slice(at + 1), PAGE),
			String(at),
		).toBeUndefined();
	}
});
