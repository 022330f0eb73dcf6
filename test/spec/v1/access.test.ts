/** Who may do what, over every row of the table of routes (D30, spec 5.3). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../../src/modules/tables.ts";
import type { Route } from "../../../src/kernel/http/server/route.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { expectError, handWorker, submitted } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

const SECRETS = {
	env: "value-of-an-environment-variable",
	webhook: `whsec_${Buffer.alloc(32, "w").toString("base64")}`,
	access: "secret-of-the-storage",
} as const;
const HOOK = "https://hooks.test/path-that-is-secret?token=also-secret";

let service: TestService;
let keys: Record<"read" | "write" | "admin" | "here" | "elsewhere", string>;
beforeAll(async () => {
	const settings = { limits: "off", env: { TOKEN: SECRETS.env }, webhookSecret: SECRETS.webhook };
	service = await startService({
		endpoints: { ep: settings, other: settings },
		settings: { budgets: { failedKeysPerAddress: 100_000 } },
	});
	const key = async (...q: [string[], string[]?]): Promise<string> => (await keyWith(service, ...q)).key;
	keys = {
		read: await key(["read"]),
		write: await key(["write"]),
		admin: await key(["admin"]),
		here: await key(["write"], ["ep"]),
		elsewhere: await key(["write", "read"], ["other", "third"]),
	};
});
afterAll(() => service?.end());

/** A waiting job with secrets. */
function secretJob(): Promise<string> {
	return submitted(service, "ep", {
		input: {},
		webhook: HOOK,
		s3Config: {
			accessId: "id",
			accessSecret: SECRETS.access,
			bucketName: "b",
			endpointUrl: "https://s3.test",
		},
	});
}

const HELD = ROUTES.filter(({ access }) => access === "read" || access === "write" || access === "admin");
const CASES = HELD.flatMap((route) => route.methods.map((method) => [method, route.path, route] as const));
/** What each scope allows (D30). */
const ALLOWS: Record<string, readonly string[]> = {
	read: ["read"],
	write: ["read", "write"],
	admin: ["read", "write", "admin"],
};

/** Calls a row with a body that none accepts, so that nothing happens where it is allowed. */
async function as(
	key: string,
	method: string,
	path: string,
	values: Partial<Record<string, string>> = {},
): ReturnType<typeof call> {
	const known: Partial<Record<string, string>> = {
		endpoint: "ep",
		job: "none",
		delivery: "none",
		response: "resp_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
		video: "video_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
		key: "none",
		session: "none",
		...values,
	};
	const filled = path.replace(/:(\w+)/g, (_, name: string) => known[name]!).replace("*", "v1/none");
	if (path === "/v1/feed" || path === "/metrics") return await beginning(key, path);
	return await call(service.url, filled, {
		key,
		method,
		...(method === "GET" ? {} : { text: "[]" }),
	});
}

/** Returns its detail. */
function expectProblem({ status, headers, json }: Awaited<ReturnType<typeof call>>, expected: number): string {
	expect([status, headers.get("content-type")]).toEqual([expected, "application/problem+json"]);
	return json.detail;
}

/** The first piece of what is no JSON, or has no end. */
async function beginning(key: string, path: string): ReturnType<typeof call> {
	const { status, headers, body } = await fetch(service.url + path, {
		headers: { authorization: `Bearer ${key}` },
	});
	const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
	const { value: text = "" } = await reader.read();
	await reader.cancel();
	return { status, headers, text, json: undefined };
}

/** GET of `/openai/*` makes a job and waits for it; the same row is called by POST. */
const isWait = (method: string, { methods }: Route): boolean => method === "GET" && methods.includes("POST");

describe.each(CASES)("%s %s", (method, path, route) => {
	it("D30, spec 5.3: is for keys with its scope and 401 for others, with a sentence that names it", async () => {
		for (const scope of ["read", "write", "admin"] as const) {
			const allowed = ALLOWS[scope]!.includes(route.access);
			if (allowed && isWait(method, route)) continue;
			const answer = await as(keys[scope], method, path);
			if (allowed)
				expect(answer.status, `${scope}: ${answer.text}`).toSatisfy(
					(status) => status !== 401 && (status < 500 || status === 501),
				);
			else if (route.errorForm?.forbids)
				expect(expectProblem(answer, 403)).toContain(`the scope ${route.access}; the one sent has ${scope}.`);
			else if (!path.includes("/openai/"))
				expect(expectError(answer, 401, "unauthorized").error).toContain(
					`the scope ${route.access}; the one sent has ${scope}.`,
				);
			else expect(answer.status).toBe(401);
		}
	});

	it("D30: with a key for other endpoints it is 401, and such keys may do nothing that is for admins", async () => {
		const elsewhere = await as(keys.elsewhere, method, path);
		const here = isWait(method, route) ? undefined : await as(keys.here, method, path);
		if (route.access === "admin") {
			const status = route.errorForm?.forbids ? 403 : 401;
			expect(elsewhere.status).toBe(status);
			expect(here?.status).toBe(status);
		} else if (path.includes(":endpoint")) {
			expect(elsewhere.status).toBe(401);
			expect(elsewhere.text).toContain("valid for endpoints other, third only");
			if (here) expect(here.status).not.toBe(401);
		}
	});

	it("spec 5.3: without a key it is 401", async () => {
		expect((await as("", method, path)).status).toBe(401);
	});
});

describe("rows without an endpoint in the path", () => {
	it("D30: every one of them that is not for admins is tested for keys with a list of endpoints", () => {
		const open = HELD.filter(
			({ path, access, errorForm }) => access !== "admin" && !errorForm?.forbids && !path.includes(":endpoint"),
		).map(({ path }) => path);
		// The feed, alerts and /metrics in their own files; of the management API only what does not exist is for all keys.
		const tested = [
			"/v1/endpoints",
			// Which presets there are says nothing of an endpoint.
			"/v1/http-presets",
			"/v1/metrics",
			"/v1/feed",
			"/v1/webhooks",
			"/v1/webhooks/:delivery",
			"/v1/webhooks/:delivery/redeliver",
			"/v1/alerts",
			"/console/session",
			"/metrics",
		];
		expect(open.filter((path) => !tested.includes(path))).toEqual([]);
	});

	it("D30: GET /v1/endpoints shows such a key its own only", async () => {
		const ids = async (key: string): Promise<string[]> =>
			(await operator(service, key).seen("/endpoints")).endpoints.map(({ id }: { id: string }) => id);
		expect(await ids(keys.here)).toEqual(["ep"]);
		expect(await ids(keys.elsewhere)).toEqual(["other"]);
		expect(await ids(keys.read)).toEqual(["ep", "other"]);
	});
});

it("D30: GET /v1/metrics has a key's own endpoints only", async () => {
	const ids = async (key: string): Promise<string[]> =>
		(await operator(service, key).seen("/metrics")).endpoints.map(({ id }: { id: string }) => id);
	expect(await ids(keys.here)).toEqual(["ep"]);
	expect(await ids(keys.read)).toEqual(["ep", "other"]);
});

it("D21, D22, D27: no answer and no event holds a value of env, a webhook secret or s3Config", async () => {
	const recorded: unknown[] = [];
	const remove = service.events.onAny((name, facts) => recorded.push([name, facts]));
	const { get, post, patch } = operator(service);
	const job = await secretJob();
	const texts: string[] = [];
	for (const { methods, path } of HELD) {
		// RunPod's API shows `env` to those who may write it (D49).
		if (path === "/v2/serverless" || path === "/v2/serverless/:endpoint") continue;
		if (!methods.includes("GET") || path.includes("*") || path.includes("status-sync") || path.includes("stream"))
			continue;
		const answer = await as(keys.admin, "GET", path, { job });
		if (path.includes(":job")) expect(answer.status, answer.text).toBe(200);
		texts.push(answer.text);
	}
	expect(texts.length).toBeGreaterThan(8);
	const patched = await patch("/endpoints/ep", {
		name: "Named",
		env: { MORE: SECRETS.env },
		webhookSecret: SECRETS.webhook,
	});
	const made = await post("/endpoints", {
		id: "made",
		env: { MORE: SECRETS.env },
		webhookSecret: SECRETS.webhook,
	});
	const paused = await post("/endpoints/ep/pause");
	const bad = await patch("/endpoints/ep", {
		env: { "BAD=": SECRETS.env },
		webhookSecret: `${SECRETS.webhook}!`,
	});
	expect([patched.status, made.status, paused.status, bad.status]).toEqual([200, 201, 200, 400]);
	expect(patched.json).toMatchObject({ env: ["TOKEN", "MORE"], webhookSecretSet: true });
	texts.push(patched.text, made.text, paused.text, bad.text, (await get("/endpoints/made")).text);
	remove();
	for (const secret of Object.values(SECRETS))
		for (const text of [...texts, JSON.stringify(recorded)]) expect(text).not.toContain(secret);
});

it("D39: the webhook of a job is shown whole to keys that may submit, as scheme and host to others", async () => {
	const job = await secretJob();
	const hook = async (key: string): Promise<string> =>
		(await operator(service, key).seen(`/endpoints/ep/jobs/${job}`)).webhook;
	for (const key of [keys.write, keys.admin, keys.here]) expect(await hook(key)).toBe(HOOK);
	expect(await hook(keys.read)).toBe("https://hooks.test/…");
	const answer = await operator(service, keys.read).get(`/endpoints/ep/jobs/${job}`);
	expect(answer.text).not.toMatch(/secret/);
});

it("D26: a worker's token opens none of it but what is for the endpoint's workers", async () => {
	const { token } = await handWorker(service, "ep");
	// The endpoint has no HTTP server to say something of.
	for (const [method, path, { workerTokens }] of CASES)
		expect((await as(token, method, path)).status, `${method} ${path}`).toBe(workerTokens ? 404 : 401);
});

it("spec 5.3: an unknown path under /v1 is 404 with a key and 401 without", async () => {
	expectError(await call(service.url, "/v1/nothing", { key: keys.read }), 404, "path_not_found");
	expectError(await call(service.url, "/v1/nothing", { key: null }), 401, "unauthorized");
});

it("D3: a method that is not there is 405, and Allow names those that are", async () => {
	for (const [path, allow] of [
		["/v1/endpoints/ep/jobs", "GET, HEAD"],
		["/v1/keys/x", "DELETE"],
		["/v1/endpoints", "GET, HEAD, POST"],
	] as const) {
		const answer = await call(service.url, path, { method: "PUT", text: "{}" });
		expectError(answer, 405, "method_not_allowed");
		expect(answer.headers.get("allow")).toBe(allow);
	}
});
