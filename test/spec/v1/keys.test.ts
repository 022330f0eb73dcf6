/** `/v1/keys` (D30, D39). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { writtenIn } from "../../support/service-store.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { keylessService, keyWith, MOMENT, operator, type Operator } from "../operator.ts";

const clock = manualClock();
let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, clock });
	admin = operator(service);
});
afterAll(() => endWith(service, clock));

async function listed(id: string): Promise<any> {
	return (await admin.seen("/keys")).keys.find((each: { id: string }) => each.id === id);
}

describe("POST /v1/keys", () => {
	it("D30: returns the key once, and keeps only its hash", async () => {
		const { status, json } = await admin.post("/keys", {
			name: "nightly",
			scopes: ["read", "write", "read"],
			endpoints: ["ep"],
		});
		expect(status).toBe(201);
		expect(json).toEqual({
			id: expect.any(String),
			key: expect.stringMatching(/^sluice_[0-9a-f]{48}$/),
			name: "nightly",
			scopes: ["read", "write"],
			endpoints: ["ep"],
			createdAt: MOMENT,
		});
		expect(await listed(json.id)).toEqual({
			id: json.id,
			name: "nightly",
			scopes: ["read", "write"],
			endpoints: ["ep"],
			createdAt: json.createdAt,
		});
		expect((await admin.get("/keys")).text).not.toContain(json.key);
		for (const bytes of await writtenIn(service.folder.path)) expect(bytes.includes(json.key)).toBe(false);
	});

	it.each([
		["no name", { scopes: ["read"] }, ["name"]],
		["no scope", { name: "n", scopes: [] }, ["scopes"]],
		["an unknown scope", { name: "n", scopes: ["read", "root"] }, ["scopes.1"]],
		["an endpoint id that cannot be", { name: "n", scopes: ["read"], endpoints: ["a/b"] }, ["endpoints.0"]],
		["an admin with endpoints", { name: "n", scopes: ["admin"], endpoints: ["ep"] }, ["endpoints"]],
		["an unknown member, and a long name", { name: "n".repeat(101), scopes: ["read"], id: "mine" }, ["name", "id"]],
	])("D2, D30: %s is 400 and names the field", async (_, body, fields) => {
		expectError(await admin.post("/keys", body), 400, "bad_request", fields);
	});

	it.each(["", "[]", "null", "nonsense", '"read"'])("D4: the body %j is 400", async (text) => {
		expectError(await call(service.url, "/v1/keys", { text, method: "POST" }), 400, "bad_json");
	});

	it("D3: a body over 64 KB is 413", async () => {
		expectError(await admin.post("/keys", { name: "n".repeat(70_000), scopes: ["read"] }), 413, "body_too_large");
	});
});

describe("DELETE /v1/keys/{key}", () => {
	it("D30: a revoked key's next call is 401, and the key is in no list", async () => {
		const { id, key } = await keyWith(service, ["read"]);
		expect((await call(service.url, "/v2/ep/health", { key })).status).toBe(200);
		const answer = await admin.remove(`/keys/${id}`);
		expect(answer.status).toBe(200);
		expect(answer.json).toMatchObject({ id, name: "read", scopes: ["read"] });
		expectError(await call(service.url, "/v2/ep/health", { key }), 401, "unauthorized");
		expect(await listed(id)).toBeUndefined();
		expectError(await admin.remove(`/keys/${id}`), 404, "key_not_found");
	});

	it("D30: with a key in the environment the last stored admin key may go; without one it is 409", async () => {
		const stored = await keyWith(service, ["admin"]);
		expect((await operator(service, stored.key).remove(`/keys/${stored.id}`)).status).toBe(200);

		const { app, key, end } = await keylessService();
		try {
			const first = operator(app, key);
			const [only] = (await first.seen("/keys")).keys;
			expect(only).toMatchObject({ name: "First key", scopes: ["admin"] });
			expectError(await first.remove(`/keys/${only.id}`), 409, "last_admin_key");
			expectError(await first.post(`/keys/${only.id}/rotate`, {}), 409, "last_admin_key");
			const { json: second } = await first.post("/keys", { name: "second", scopes: ["admin"] });
			expect((await first.remove(`/keys/${only.id}`)).status).toBe(200);
			expectError(await first.get("/keys"), 401, "unauthorized");
			expect((await operator(app, second.key).seen("/keys")).keys).toHaveLength(1);
		} finally {
			await end();
		}
	});
});

describe("GET /v1/keys", () => {
	it("D30: says whether the environment has a key too", async () => {
		expect(await admin.seen("/keys")).toMatchObject({ environment: true });
		const { app, key, end } = await keylessService();
		try {
			expect(await operator(app, key).seen("/keys")).toMatchObject({ environment: false });
		} finally {
			await end();
		}
	});

	it("D30: notes the last use, at most once a minute", async () => {
		const { id, key } = await keyWith(service, ["read"]);
		expect(await listed(id)).not.toHaveProperty("lastUsedAt");
		const use = async (): Promise<number> => {
			const now = clock.now();
			expect((await call(service.url, "/v2/ep/health", { key })).status).toBe(200);
			// The note is written while the answer is in progress.
			await clock.advance(0);
			return now;
		};
		const first = await use();
		expect((await listed(id)).lastUsedAt).toBe(new Date(first).toISOString());
		await clock.advance(30_000);
		await use();
		expect((await listed(id)).lastUsedAt).toBe(new Date(first).toISOString());
		await clock.advance(30_000);
		const later = await use();
		expect((await listed(id)).lastUsedAt).toBe(new Date(later).toISOString());
	});
});

describe("expiry and rotation", () => {
	const health = (key: string): Promise<number> =>
		call(service.url, "/v2/ep/health", { key }).then(({ status }) => status);

	it("D30: an expired key is 401 at its next call, and stays in the list", async () => {
		const expiresAt = new Date(clock.now() + 5000).toISOString();
		const { json } = await admin.post("/keys", { name: "short", scopes: ["read"], expiresAt });
		expect(json).toMatchObject({ expiresAt });
		await clock.advance(4999);
		expect(await health(json.key)).toBe(200);
		await clock.advance(1);
		expect(await health(json.key)).toBe(401);
		service.engine.access.keys.cached.forget();
		expect(await health(json.key)).toBe(401);
		expect(await listed(json.id)).toMatchObject({ expiresAt });
		expectError(await admin.post("/keys", { name: "old", scopes: ["read"], expiresAt }), 400, "bad_request", [
			"expiresAt",
		]);
	});

	it("D30: rotate returns a new key under the id; the one before ends at once", async () => {
		const { id, key } = await keyWith(service, ["read"], ["ep"]);
		expect(await health(key)).toBe(200);
		const { status, json } = await admin.post(`/keys/${id}/rotate`, {});
		const shown = { id, key: expect.stringMatching(/^sluice_[0-9a-f]{48}$/), endpoints: ["ep"] };
		expect([status, json]).toMatchObject([200, shown]);
		for (const forget of [false, true]) {
			if (forget) service.engine.access.keys.cached.forget();
			expect([await health(key), await health(json.key)]).toEqual([401, 200]);
		}
		expectError(await admin.post(`/keys/${id}/rotate`, { overlapMs: 5000 }), 400, "bad_request", ["overlapMs"]);
		await admin.remove(`/keys/${id}`);
		expect(await health(json.key)).toBe(401);
		expectError(await admin.post(`/keys/${id}/rotate`, {}), 404, "key_not_found");
	});

	it("D30: the list says from where a key was used last", async () => {
		const { id, key } = await keyWith(service, ["read"]);
		await health(key);
		await clock.advance(0);
		expect(await listed(id)).toMatchObject({
			lastUsedAddress: expect.stringMatching(/127\.0\.0\.1$/),
		});
	});
});
