/** `/v1/registries`: logins to registries of container images (D45, D39). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { writtenIn } from "../../support/service-store.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { keyWith, MOMENT, operator, type Operator } from "../operator.ts";

const PASSWORD = "pull-secret-5c1d";
const clock = manualClock();
let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, clock });
	admin = operator(service);
});
afterAll(() => endWith(service, clock));

const put = (registry: string, body: unknown, key = KEY): ReturnType<typeof call> =>
	call(service.url, `/v1/registries/${encodeURIComponent(registry)}`, {
		key,
		method: "PUT",
		body,
	});

it("D45: a login is set, replaced, listed without its password, used by pulls, and removed", async () => {
	expect((await admin.seen("/registries")).registries).toEqual([]);
	const name = "registry.example.com:5000";
	const first = await put(name, { username: "ci", password: "first" });
	expect(first.status, first.text).toBe(200);
	expect(first.json).toEqual({ registry: name, username: "ci", updatedAt: MOMENT });
	await put(name, { username: "bot", password: PASSWORD });
	const hub = await put("https://index.docker.io/v1/", { username: "me", password: PASSWORD });
	expect(hub.json).toMatchObject({ registry: "docker.io" });
	const listed = await admin.get("/registries");
	expect(listed.json.registries).toMatchObject([
		{ registry: "docker.io", username: "me" },
		{ registry: name, username: "bot" },
	]);
	expect(await service.modules.registryLogin(name)).toEqual({ username: "bot", password: PASSWORD });
	expect(await service.modules.registryLogin("ghcr.io")).toBeUndefined();

	const path = `/registries/${encodeURIComponent(name)}`;
	const removed = await admin.remove(path);
	expect(removed.json).toMatchObject({ registry: name, username: "bot" });
	expectError(await admin.remove(path), 404, "registry_not_found");
	expectError(await admin.remove("/registries/-"), 404, "registry_not_found");
	expect(await service.modules.registryLogin(name)).toBeUndefined();
	await admin.remove("/registries/docker.io");

	for (const { text } of [first, hub, listed, removed]) expect(text).not.toContain(PASSWORD);
	for (const bytes of await writtenIn(service.folder.path)) expect(bytes.includes(PASSWORD)).toBe(false);
});

it("D42, D45: that a login is set and removed is in the audit log, without its password", async () => {
	await put("ghcr.io", { username: "bot", password: PASSWORD });
	await admin.remove("/registries/ghcr.io");
	const { json, text } = await admin.get("/audit?limit=2");
	expect(json.entries).toMatchObject([
		{ action: "removeRegistry", subject: ["ghcr.io"], result: "ok" },
		{ action: "putRegistry", subject: ["ghcr.io"], result: "ok" },
	]);
	expect(text).not.toContain(PASSWORD);
});

it.each<[string, string, unknown, string[]]>([
	["no user, no password", "ghcr.io", {}, ["username", "password"]],
	["an empty password", "ghcr.io", { username: "a", password: "" }, ["password"]],
	["another member", "ghcr.io", { username: "a", password: "b", email: "c" }, ["email"]],
	["a name that is none", "a b", { username: "a", password: "b" }, ["registry"]],
	["an image for its registry", "ghcr.io:x", { username: "a", password: "b" }, ["registry"]],
])("D45: refuses %s", async (_, registry, body, fields) => {
	expectError(await put(registry, body), 400, "bad_request", fields);
	expect((await admin.seen("/registries")).registries).toEqual([]);
});

it("D30, D45: only for administrators", async () => {
	const { key } = await keyWith(service, ["write"]);
	const body = { username: "a", password: "b" };
	expectError(await put("ghcr.io", body, key), 401, "unauthorized");
	expectError(await operator(service, key).get("/registries"), 401, "unauthorized");
});

it("D16, D45: a login is dated by the time of day, also after a step of the clock", async () => {
	let noticed = false;
	void service.next("clock.stepped").then(() => (noticed = true));
	clock.set(3_600_000);
	await advanceUntil(clock, () => noticed, 100);
	const { json } = await put("ghcr.io", { username: "a", password: "b" });
	expect(Date.parse(json.updatedAt)).toBe(clock.wall());
});
