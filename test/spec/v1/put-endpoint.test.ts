/** `PUT /v1/endpoints/{id}`, and what `sluice diff`, `apply` and `export` make of it (D36, D39). */
import { MODULES } from "../../../src/modules/index.ts";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { exportText } from "../../../src/cli/commands/apply/export.ts";
import { changesIn, planOf, putEndpoint } from "../../../src/cli/commands/apply/plan.ts";
import { serviceClient } from "../../../src/cli/client/service-client.ts";
import { loadEndpoints } from "../../../src/kernel/config/endpoints.ts";
import { withDurationTexts } from "../../../src/kernel/core/durations.ts";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../../src/kernel/launchers/endpoint-settings.ts";
import type { Schema } from "../../../src/kernel/lib/schema.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { sortedText } from "../../support/sorted-json.ts";
import { expectError } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({
		// Links to files of jobs begin with it.
		settings: { publicUrl: "http://sluice.test" },
		endpoints: { ep: { workersMax: 7, env: { TOKEN: "first-value" } } },
	});
});
afterAll(() => service.end());

const put = (id: string, body: unknown, query = "") =>
	call(service.url, `/v1/endpoints/${id}${query}`, { method: "PUT", body });

describe("PUT", () => {
	it("D39: replaces all settings, names what differs without values of secrets; dryRun changes nothing", async () => {
		const before = (await call(service.url, "/v1/endpoints/ep")).json;
		const body = { idleTimeout: "5m", env: { TOKEN: "second-value", B: 1 } };
		const changes = [
			{ field: "workersMax", action: "change", before: 7, after: 3 },
			{ field: "idleTimeout", action: "change", before: 5, after: 300 },
			{ field: "env.TOKEN", action: "change" },
			{ field: "env.B", action: "add" },
		];
		const planned = await put("ep", body, "?dryRun=true");
		expect(planned).toMatchObject({ status: 200, json: { id: "ep", action: "update", applied: false } });
		expect(planned.json.changes).toHaveLength(changes.length);
		expect(planned.json.changes).toEqual(expect.arrayContaining(changes));
		expect(planned.text).not.toMatch(/first-value|second-value/);
		expect((await call(service.url, "/v1/endpoints/ep")).json).toEqual(before);

		expect((await put("ep", body)).json).toEqual({ ...planned.json, applied: true });
		expect((await call(service.url, "/v1/endpoints/ep")).json).toMatchObject({
			workersMax: 3,
			idleTimeout: 300,
			env: ["TOKEN", "B"],
			createdAt: before.createdAt,
		});
		expect((await put("ep", body)).json).toEqual({ id: "ep", action: "none", applied: false, changes: [] });
	});

	it("D39, D42: a change is in the audit log once; dryRun, the same settings and comparisons are not", async () => {
		const settings = { workersMax: 4 };
		await put("recorded", settings, "?dryRun=true");
		await call(service.url, "/v1/diff", { body: { endpoints: { recorded: settings } } });
		for (let n = 0; n < 2; n += 1) expect((await put("recorded", settings)).status).toBe(200);
		const { entries } = await operator(service).seen("/audit?limit=100");
		expect(entries.map(({ action }: { action: string }) => action)).not.toContain("compareEndpoints");
		expect(entries.filter(({ subject }: { subject: string[] }) => subject.includes("recorded"))).toMatchObject([
			{ action: "putEndpoint" },
		]);
	});

	it("D21, D39: a webhook secret that is not named stays; one that is named is compared", async () => {
		const secret = (byte: number): string => `whsec_${Buffer.alloc(24, byte).toString("base64")}`;
		const put1 = await put("hooks", { webhookSecret: secret(1) });
		expect(put1.json).toMatchObject({ action: "create", changes: [{ field: "webhookSecret", action: "add" }] });
		for (const same of [{}, { webhookSecret: secret(1) }])
			expect((await put("hooks", same)).json).toMatchObject({ action: "none", applied: false });
		const other = await put("hooks", { webhookSecret: secret(2) });
		expect(other.json.changes).toEqual([{ field: "webhookSecret", action: "change" }]);
		expect(other.text).not.toContain("whsec_");
	});

	it("D39: creates one that does not exist, also without settings; dryRun does not", async () => {
		const answer = { id: "new", action: "create", applied: false, changes: [] };
		expect((await put("new", {}, "?dryRun=true")).json).toEqual(answer);
		expect((await call(service.url, "/v1/endpoints/new")).status).toBe(404);
		expect((await put("new", {})).json).toEqual({ ...answer, applied: true });
		expect((await call(service.url, "/v1/endpoints/new")).json).toMatchObject({ id: "new", workersMax: 3 });
	});

	it("D30, D39: refuses settings with every fault, also with dryRun, and keys without the right", async () => {
		for (const query of ["", "?dryRun=true"]) {
			const { json } = await put("bad", { workersMax: -1, nmae: "x" }, query);
			expect(json.details.map(({ field }: { field: string }) => field)).toEqual(["workersMax", "nmae"]);
		}
		expectError(await put("ep", {}, "?dryRun=1"), 400, "bad_query");
		expectError(await put("a%20b", {}), 400, "bad_request");
		const { key } = await keyWith(service, ["write"]);
		const answer = await call(service.url, "/v1/endpoints/ep?dryRun=true", { method: "PUT", body: {}, key });
		expectError(answer, 401, "unauthorized");
	});
});

/** Valid values of a schema: durations also as text, optional members also null. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
	const { type, properties = {}, required = [], minimum = 0, maximum = 2 ** 40 } = schema;
	if (schema.const !== undefined) return fc.constant(schema.const);
	if (schema.enum) return fc.constantFrom(...schema.enum);
	if (schema.oneOf) return fc.oneof(...schema.oneOf.map(valueOf));
	if (schema["x-duration"]) {
		const whole = fc.oneof(fc.integer({ min: minimum, max: minimum + 3 }), fc.integer({ min: minimum, max: maximum }));
		const text = (value: number) => withDurationTexts({ ...schema, oneOf: [] }, value);
		return fc.oneof(whole, whole.map(text));
	}
	if (type === "object") {
		const members = Object.entries(properties).map(([name, member]) => {
			const value = valueOf(member);
			const given = required.includes(name) ? value : fc.option(value, { freq: 4 });
			return [name, member.default === undefined ? given : fc.oneof(given, fc.constant(member.default))] as const;
		});
		const record = fc.record(Object.fromEntries(members), { requiredKeys: [...required] });
		return Object.keys(properties).length > 0 ? record : fc.dictionary(fc.string({ minLength: 1 }), fc.string());
	}
	if (type === "array")
		return fc.array(valueOf(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: schema.maxItems ?? 4 });
	if (type === "boolean") return fc.boolean();
	if (type === "integer") return fc.integer({ min: minimum, max: maximum });
	if (type === "number") return fc.double({ min: Math.max(minimum, 0.01), max: maximum, noNaN: true });
	if (type === "string") {
		const { pattern, minLength = 0, maxLength = 30 } = schema;
		return pattern
			? fc.stringMatching(new RegExp(pattern, "u"), { size: "small" })
			: fc.string({ minLength, maxLength });
	}
	return fc.jsonValue();
}

const LAUNCHED = ["external", "process", "docker"];
const { launcher: LAUNCHER, ...OTHERS } = ENDPOINT_SCHEMA.properties;
const branches = LAUNCHER.oneOf!.filter(({ properties }) => LAUNCHED.includes(String(properties?.["type"]?.const)));

/** Ports are for external servers; the others get a free one, in a container none. */
function httpFor(type: unknown, http: { port: number; failed: unknown }): object | null {
	if (type === "docker") return null;
	return type === "process" ? { ...http, port: 0 } : http;
}

/** No worker starts, and no image is pulled. */
const someSettings = fc
	.record({
		common: valueOf({ type: "object", properties: OTHERS }) as fc.Arbitrary<Record<string, unknown>>,
		launcher: valueOf({ oneOf: branches }) as fc.Arbitrary<Record<string, unknown>>,
		cwd: fc.constantFrom(".", "..", null, undefined),
		env: fc.dictionary(
			fc.stringMatching(/^(?:[A-Z_]{1,9}|RUNPOD_INIT_TIMEOUT)$/),
			fc.oneof(fc.string({ minLength: 1 }), fc.nat(), fc.boolean()),
		),
		initTimeout: fc.option(fc.constantFrom("900", "15m", 600)),
		webhookSecret: fc.option(
			fc.uint8Array({ minLength: 24, maxLength: 64 }).map((all) => `whsec_${Buffer.from(all).toString("base64")}`),
		),
		left: fc.subarray(Object.keys(OTHERS)),
		http: fc.record({ port: fc.integer({ min: 1, max: 9 }), failed: fc.constantFrom([{ at: "/a" }], null) }),
	})
	.map(({ common, launcher, cwd, env, initTimeout, webhookSecret, left, http }) => {
		const { sleep: _sleep, ...settings } = Object.fromEntries(
			Object.entries(common).filter(([name]) => left.includes(name)),
		);
		return {
			...settings,
			...("http" in settings && { http: httpFor(launcher["type"], http) }),
			...(webhookSecret !== null && { webhookSecret }),
			workersMin: 0,
			env: { ...env, ...(initTimeout !== null && { RUNPOD_INIT_TIMEOUT: initTimeout }) },
			launcher: {
				...launcher,
				...(launcher["type"] === "process" && { cwd }),
				...(launcher["type"] === "docker" && { prePull: false }),
			},
		};
	})
	.filter((settings) => readEndpoint("any", settings).ok);

type Settings = typeof someSettings extends fc.Arbitrary<infer S> ? S : never;

const client = serviceClient(() => ({ base: service.url, key: KEY, keyFrom: "" }));
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const FILE = (): string => join(service.folder.path, "sluice.yaml");

function endpointsIn(text: string, env: Record<string, string> = {}) {
	const loaded = loadEndpoints(text, { path: FILE(), env, modules: MODULES });
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	return loaded.endpoints;
}

const changesOf = async (endpoints: ReturnType<typeof endpointsIn>) =>
	changesIn(await planOf(client, endpoints, { prune: false })).flatMap(({ changes }) => changes);

async function applyAll(endpoints: ReturnType<typeof endpointsIn>): Promise<void> {
	for (const [id, settings] of endpoints) await putEndpoint(client, id, settings);
}

it("D36: a diff asks once for a page of endpoints, and names the one that is refused", async () => {
	const many = endpointsIn(
		stringify({ endpoints: Object.fromEntries(numbers(250).map((n) => [`e${n}`, { workersMax: n }])) }),
	);
	let requests = 0;
	const counting = {
		...client,
		request: (...q: Parameters<typeof client.request>) => ((requests += 1), client.request(...q)),
	};
	const { endpoints } = await planOf(counting, many, { prune: false });
	expect(endpoints.map(({ id, action }) => [id, action])).toEqual([...many.keys()].map((id) => [id, "create"]));
	expect(requests).toBe(1 + 3);
	const refused = await call(service.url, "/v1/diff", { body: { endpoints: { ep: {}, other: { workersMax: -1 } } } });
	expect(expectError(refused, 400, "bad_request").error).toContain("endpoints.other.workersMax");
	for (const body of [{}, { endpoints: [] }, { endpoints: {}, more: 1 }])
		expectError(await call(service.url, "/v1/diff", { body }), 400, "bad_request");
	const compared = await call(service.url, "/v1/diff", {
		body: { endpoints: { ep: { env: { TOKEN: "another-value" } } } },
	});
	expect(compared.text).not.toMatch(/-value/);
	expect(compared.json.endpoints[0].changes).toContainEqual({ field: "env.TOKEN", action: "change" });
});

const file = (settings: Settings): string => stringify({ endpoints: { any: settings } });

/** What they mean, apart from a secret that is kept. */
function meaning(settings: Settings): unknown {
	const [one] = endpointsIn(file(settings)).values();
	const read = readEndpoint("any", one);
	return read.ok && JSON.parse(JSON.stringify({ ...read.endpoint, webhookSecret: undefined }));
}

describe("endpoints of a file", () => {
	it("D36: a diff after apply finds nothing, and what differs in meaning before", { timeout: 120_000 }, async () => {
		await fc.assert(
			fc.asyncProperty(someSettings, someSettings, async (first, second) => {
				await applyAll(endpointsIn(file(first)));
				expect(await changesOf(endpointsIn(file(first)))).toEqual([]);
				const found = await changesOf(endpointsIn(file(second)));
				const fields = found.map(({ field }) => field).filter((field) => field !== "webhookSecret");
				if (sortedText(meaning(first)) === sortedText(meaning(second))) expect(fields).toEqual([]);
				else expect(fields).not.toEqual([]);
			}),
			{ numRuns: 50 },
		);
	});

	it("D36: an endpoint named as a member of every object is listed, exported and compared", async () => {
		for (const id of ["__proto__", "constructor"]) {
			const { status } = await put(id, { workersMax: 0, env: { A: "${HOME}" } });
			expect(status, id).toBe(200);
			const { json } = await call(service.url, `/v1/endpoints/${id}`);
			const endpoints = endpointsIn(exportText([json]), { A: "${HOME}" });
			expect([...endpoints.keys()]).toEqual([id]);
			expect(await changesOf(endpoints)).toEqual([]);
		}
	});

	it("D36: export names no secret of the service for a worker's variable of the same name", async () => {
		const names = ["SLUICE_API_KEY", "SLUICE-STORE", "PGPASSWORD"];
		const { json } = await call(service.url, "/v1/endpoints/ep");
		const text = exportText([{ ...json, env: names }]);
		const values = { WORKER_SLUICE_API_KEY: "a", WORKER_SLUICE_STORE: "b", WORKER_PGPASSWORD: "c" };
		expect(endpointsIn(text, { SLUICE_API_KEY: "operator", ...values }).get("ep")!["env"]).toEqual({
			...{ SLUICE_API_KEY: "a", "SLUICE-STORE": "b", PGPASSWORD: "c" },
		});
	});

	it("D36: a diff of what export prints finds nothing", { timeout: 120_000 }, async () => {
		await fc.assert(
			fc.asyncProperty(someSettings, async (settings) => {
				await applyAll(endpointsIn(file(settings)));
				const { json } = await call(service.url, "/v1/endpoints/any");
				const variables = Object.entries(settings.env).map(([name, value]) => [name, String(value)]);
				expect(await changesOf(endpointsIn(exportText([json]), Object.fromEntries(variables)))).toEqual([]);
			}),
			{ numRuns: 50 },
		);
	});
});
