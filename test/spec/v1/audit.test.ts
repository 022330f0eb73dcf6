/** `/v1/audit`: what administrators changed (D42). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTES } from "../../../src/modules/tables.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { MOMENT, keyWith, operator } from "../operator.ts";

const clock = manualClock();
const DAY = 86_400_000;
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		settings: { budgets: { auditRetention: DAY } },
		clock,
	});
});
afterAll(() => endWith(service, clock));

async function newest(limit: number): Promise<any[]> {
	return (await operator(service).seen(`/audit?limit=${limit}`)).entries;
}

it("D42: says who did what, when, to what and with what result; never a secret", async () => {
	const { id, key } = await keyWith(service, ["admin"]);
	const own = operator(service, key);
	await own.post("/endpoints/ep/pause");
	await own.patch("/endpoints/ep", { env: { TOKEN: "value-of-env" }, workersMax: -1 });
	await own.post("/endpoints", { id: "made", env: { TOKEN: "value-of-env" } });
	const { json } = await own.post(`/keys/${id}/rotate`, {});
	await call(service.url, "/console/session", { key: null, body: { key: json.key } });
	await operator(service, json.key).seen("/keys");
	const common = {
		at: MOMENT,
		keyId: id,
		keyName: "admin",
		address: expect.any(String),
		requestId: expect.any(String),
	};
	expect(await newest(6)).toEqual([
		{ ...common, action: "signIn", subject: [expect.any(String)], result: "ok" },
		{ ...common, action: "rotateKey", subject: [id], result: "ok" },
		{ ...common, action: "createEndpoint", subject: ["made"], result: "ok" },
		{ ...common, action: "updateEndpoint", subject: ["ep"], result: "bad_request" },
		{ ...common, action: "pauseEndpoint", subject: ["ep"], result: "ok" },
		{
			...common,
			keyId: "environment",
			keyName: "SLUICE_API_KEY",
			action: "createKey",
			subject: [id],
			result: "ok",
		},
	]);
	const text = JSON.stringify(await newest(100));
	for (const secret of [key, json.key, KEY, "value-of-env"]) expect(text).not.toContain(secret);
});

it("D42: repeated sign-ins and sign-outs of a key have ten entries an hour, then one at each doubling", async () => {
	const reader = await keyWith(service, ["read"]);
	const signIn = () => call(service.url, "/console/session", { key: null, body: { key: reader.key } });
	const counts = async (action: string) =>
		(await operator(service).seen(`/audit?key=${reader.id}&action=${action}`)).entries.map(
			({ count }: { count?: number }) => count,
		);
	const alone = Array.from({ length: 10 }, () => undefined);
	for (let n = 0; n < 25; n += 1) {
		const { headers, json } = await signIn();
		const cookie = headers.get("set-cookie")!.split(";")[0]!;
		const page = { cookie, origin: service.url, "sluice-page-token": json.pageToken };
		await call(service.url, "/console/session", { key: null, method: "DELETE", headers: page });
		await clock.advance(1000);
	}
	expect(await counts("signIn")).toEqual([20, ...alone]);
	expect(await counts("signOut")).toEqual([20, ...alone]);
	await Promise.all(Array.from({ length: 60 }, signIn));
	expect(await counts("signIn")).toEqual([80, 40, 20, ...alone]);
	await clock.leap(3_600_000);
	await signIn();
	expect(await counts("signIn")).toEqual([undefined, 80, 40, 20, ...alone]);
});

it("D42: every change for admins is in it, for admin keys only, in pages", async () => {
	const changes = ROUTES.filter(({ access }) => access === "admin").flatMap(({ name, path, methods }) =>
		methods.filter((method) => method !== "GET").map((method) => [name, path, method] as const),
	);
	expect(changes.length).toBeGreaterThan(10);
	for (const [name, path, method] of changes) {
		const filled = path.replace(":endpoint", "none").replace(/:\w+/g, "none");
		await call(service.url, filled, { method, text: "[]" });
		expect(await newest(1), name).toMatchObject([{ action: name, keyId: "environment" }]);
	}
	const { key } = await keyWith(service, ["write"]);
	expectError(await operator(service, key).get("/audit"), 401, "unauthorized");
	const page = await operator(service).seen("/audit?limit=2");
	const next = await operator(service).seen(`/audit?limit=2&cursor=${page.next}`);
	expect([...page.entries, ...next.entries]).toEqual(await newest(4));
	expectError(await operator(service).get("/audit?cursor=x"), 400, "bad_query");
	const all = await newest(100);
	const { entries } = await operator(service).seen("/audit?limit=100&action=createKey");
	// Older ones may follow.
	const shown = all.filter(({ action }) => action === "createKey");
	expect(entries.slice(0, shown.length)).toEqual(shown);
	expect(entries.length).toBeGreaterThan(1);
	const own = await operator(service).seen("/audit?limit=100&key=environment&action=createKey");
	expect(own.entries).toEqual(entries);
	expect((await operator(service).seen("/audit?key=none")).entries).toEqual([]);
});

it("D42: entries older than the retention are removed", async () => {
	const before = await newest(100);
	await clock.leap(DAY + 1);
	service.leapt();
	await operator(service).post("/endpoints/ep/resume");
	const after = await newest(100);
	expect(before.length).toBeGreaterThan(5);
	expect(after).toMatchObject([{ action: "resumeEndpoint" }]);
});
