/** What lists of the management API read: only what they show, within the budget of bytes in flight. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";

const COUNT = 12;

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, settings: { management: { launcher: "docker" } } });
	for (let n = 0; n < COUNT; n += 1) {
		await made("/v2/templates", { name: `t${n}`, image: "a:1", env: { A: `${n}` }, public: n % 3 === 0 });
		await made("/v2/account/secrets", { name: `s${n}`, value: "v" });
		await made("/v2/registries", { name: `r${n}`, username: "u", password: "p" });
	}
});
afterAll(() => service?.end());

async function made(path: string, body: object): Promise<void> {
	const { status, text } = await call(service.url, path, { body });
	expect(status, text).toBe(201);
}

/** The answer, and how many texts were decrypted for it. */
async function asked(path: string): Promise<{ json: any; decrypted: number }> {
	const decrypt = vi.spyOn(service.engine.access.encryption, "decrypt");
	try {
		const { status, text, json } = await call(service.url, path);
		expect(status, text).toBe(200);
		return { json, decrypted: decrypt.mock.calls.length };
	} finally {
		decrypt.mockRestore();
	}
}

it("D41, D49: a page of templates decrypts what it shows, and one for whether more follow", async () => {
	const names: string[] = [];
	for (let cursor = ""; ; ) {
		const { json, decrypted } = await asked(`/v2/templates?limit=5${cursor && `&cursor=${cursor}`}`);
		names.push(...json.templates.map(({ name }: any) => name));
		expect(decrypted).toBeLessThanOrEqual(5 + 1 + (cursor ? 2 : 0));
		for (const { name, env } of json.templates) expect(env).toEqual({ A: name.slice(1) });
		if (!json.pagination.hasNextPage) break;
		cursor = json.pagination.nextCursor;
	}
	expect(names.toSorted()).toEqual(Array.from({ length: COUNT }, (_, n) => `t${n}`).toSorted());
	const { json } = await asked("/v2/catalog/templates?source=official");
	expect(json.templates.map(({ name }: any) => name).toSorted()).toEqual(["t0", "t3", "t6", "t9"]);
});

it("D41, D49: lists of secrets and logins decrypt none", async () => {
	for (const [path, list] of [
		["/v2/account/secrets", "secrets"],
		["/v2/registries", "registries"],
	] as const) {
		const { json, decrypted } = await asked(path);
		expect([json[list].length, decrypted]).toEqual([COUNT, 0]);
	}
});

it("D41, D50: releases are read a page at a time, without their settings, and held before that", async () => {
	for (let n = 0; n < 6; n += 1) {
		const body = { env: { N: `${n}` }, launcher: { type: "process", command: ["true", "x".repeat(20_000), `${n}`] } };
		const { status, text } = await call(service.url, "/v1/endpoints/ep", { method: "PATCH", body });
		expect(status, text).toBe(200);
	}
	const holds = vi.spyOn(service.engine.budgets.memory, "hold");
	const { json, decrypted } = await asked("/v1/endpoints/ep/releases");
	expect([json.releases.map(({ version }: any) => version), decrypted]).toEqual([[7, 6, 5, 4, 3, 2, 1], 0]);
	const held = holds.mock.calls.map(([bytes]) => bytes);
	holds.mockRestore();
	expect(Math.max(...held)).toBeGreaterThan(2 * 5 * 2 * 20_000);
	const first = await asked("/v2/serverless/ep/releases?limit=2");
	expect(first.json.releases.map(({ version }: any) => version)).toEqual([7, 6]);
	const next = await asked(`/v2/serverless/ep/releases?limit=9&cursor=${first.json.pagination.nextCursor}`);
	expect(next.json.releases.map(({ version }: any) => version)).toEqual([5, 4, 3, 2, 1]);
	expect(next.json.pagination.hasNextPage).toBe(false);
});
