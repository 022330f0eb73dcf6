/** Templates, registries, network volumes and secrets of the management API: codes, shapes, what stays secret. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";

const PASSWORD = "pull-password-0123";
const VALUE = "secret-value-0123";
const UNKNOWN = "0000000000";

let service: TestService;
const logged: string[] = [];
beforeAll(async () => {
	service = await startService({ endpoints: {}, settings: { management: { launcher: "docker" } } });
	service.events.onAny((name, facts) => logged.push(`${name} ${JSON.stringify(facts)}`));
});
afterAll(() => service?.end());

const ask = (method: string, path: string, body?: unknown) =>
	call(service.url, `/v2${path}`, { method, ...(body === undefined ? {} : { body }) });

const TEMPLATE = {
	name: "captions",
	image: "registry.example/captions:3",
	args: "python -u handler.py",
	env: { MODEL: "small" },
	serverless: true,
};
const VOLUME = { name: "models", size: 100, dataCenter: "local" };
const LOGIN = { name: "ci", username: "bot", password: PASSWORD };
const SECRET = { name: "hf/token", value: VALUE };

const PATHS = {
	templates: ["/templates", TEMPLATE],
	registries: ["/registries", LOGIN],
	volumes: ["/network-volumes", VOLUME],
	secrets: ["/account/secrets", SECRET],
} as const;

async function made(kind: keyof typeof PATHS, change: object = {}): Promise<any> {
	const [path, body] = PATHS[kind];
	const { status, json, text } = await ask("POST", path, { ...body, ...change });
	expect(status, text).toBe(201);
	expect(json.id).toMatch(/^[a-z0-9]{8,14}$/);
	return json;
}

describe.each(Object.entries(PATHS))("D49: %s", (kind, [path, body]) => {
	it("is made, read and deleted", async () => {
		const name = `${kind}-life`;
		const one = await made(kind as keyof typeof PATHS, { name });
		expect((await ask("GET", `${path}/${one.id}`)).json).toEqual(one);
		const list = Object.values((await ask("GET", path)).json).find(Array.isArray) as unknown[];
		expect(list[0]).toEqual(one);
		const removed = await ask("DELETE", `${path}/${one.id}`);
		expect([removed.status, removed.text]).toEqual([204, ""]);
		for (const method of ["GET", "DELETE"]) {
			const { status, json } = await ask(method, `${path}/${one.id}`);
			expect([status, json.status, json.title]).toEqual([404, 404, "Not Found"]);
			expect(json.detail).toContain(`GET /v2${path} lists`);
		}
	});

	it.each(Object.keys(body).filter((name) => !["args", "env", "serverless"].includes(name)))(
		"422 without %s",
		async (name) => {
			const { status, json } = await ask("POST", path, { ...body, [name]: undefined });
			expect([status, json.errors]).toEqual([422, [expect.stringMatching(`^\\$\\.${name} is missing`)]]);
		},
	);

	it("422 for an unknown member, 400 for text that is no JSON, 413 for over 1 MiB", async () => {
		const unknown = await ask("POST", path, { ...body, color: "red" });
		expect([unknown.status, unknown.json.errors]).toEqual([422, [expect.stringMatching(/^\$\.color /)]]);
		expect((await call(service.url, `/v2${path}`, { text: "{" })).status).toBe(400);
		expect((await ask("POST", path, { ...body, name: "x".repeat(1024 ** 2) })).status).toBe(413);
	});

	it("403 for a key without the scope admin, 405 with the methods", async () => {
		const { json } = await call(service.url, "/v1/keys", { body: { name: kind, scopes: ["read", "write"] } });
		for (const method of ["GET", "POST"])
			expect(
				(await call(service.url, `/v2${path}`, { method, body: method === "POST" ? body : undefined, key: json.key }))
					.status,
			).toBe(403);
		const { status, headers } = await ask("PUT", path, body);
		expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
	});

	it("each change is in the audit log, without what is secret", async () => {
		const { id } = await made(kind as keyof typeof PATHS, { name: `${kind}-audit` });
		await ask("DELETE", `${path}/${id}`);
		const { text } = await call(service.url, "/v1/audit");
		expect(text.split(`"${id}"`).length - 1).toBeGreaterThanOrEqual(2);
	});
});

describe("D49: what a schema or a rule refuses", () => {
	const mounts = (size: number) => ({ persistent: { size, path: "/workspace" } });
	it.each<[status: number, method: string, path: string, body: object, error: RegExp]>([
		[422, "POST", "/templates", { ...TEMPLATE, name: "" }, /^\$\.name must be/],
		[422, "POST", "/templates", { ...TEMPLATE, image: "" }, /^\$\.image must be/],
		[422, "POST", "/templates", { ...TEMPLATE, disk: 0 }, /^\$\.disk must be/],
		[422, "POST", "/templates", { ...TEMPLATE, category: "TPU" }, /^\$\.category must be/],
		[422, "POST", "/templates", { ...TEMPLATE, mounts: mounts(9) }, /^\$\.mounts\.persistent\.size must be/],
		[422, "POST", "/templates", { ...TEMPLATE, mounts: { network: {} } }, /^\$\.mounts\.network /],
		[422, "POST", "/templates", { ...TEMPLATE, allowedCudaVersions: ["12"] }, /^\$\.allowedCudaVersions/],
		[422, "POST", "/templates", { ...TEMPLATE, env: { A: 1 } }, /^\$\.env\.A must be/],
		[400, "POST", "/templates", { ...TEMPLATE, cmd: ["other"] }, /^\$\.args and the lists cmd and entrypoint must/],
		[400, "POST", "/templates", { ...TEMPLATE, args: "'open" }, /^\$\.args must have no quotes/],
		[400, "POST", "/templates", { ...TEMPLATE, registry: UNKNOWN }, /^\$\.registry is not the id/],
		[400, "POST", "/templates", { ...TEMPLATE, env: { T: "{{ RUNPOD_SECRET_none }}" } }, /^\$\.env\.T names .*'none'/],
		[422, "PATCH", "/templates/ID", { name: "" }, /^\$\.name must be/],
		[422, "PATCH", "/templates/ID", { templateId: "x" }, /^\$\.templateId /],
		[400, "PATCH", "/templates/ID", { args: "a", entrypoint: ["b"] }, /must mean the same/],
		[400, "PATCH", "/templates/ID", { registry: UNKNOWN }, /^\$\.registry is not the id/],
		[422, "GET", "/templates?limit=0", {}, /^\$\.limit must be/],
		[422, "GET", "/templates?cursor=none", {}, /^\$\.cursor must be/],
		[422, "GET", "/catalog/templates?source=mine", {}, /^\$\.source must be one of official/],
		[422, "POST", "/registries", { ...LOGIN, name: "" }, /^\$\.name must be/],
		[422, "POST", "/registries", { ...LOGIN, password: "" }, /^\$\.password must be/],
		[422, "POST", "/registries", { ...LOGIN, username: 5 }, /^\$\.username must be/],
		[405, "PATCH", "/registries/ID", {}, /^$/],
		[501, "POST", "/registries/delegations", {}, /^$/],
		[422, "POST", "/network-volumes", { ...VOLUME, size: 9 }, /^\$\.size must be/],
		[422, "POST", "/network-volumes", { ...VOLUME, size: 4097 }, /^\$\.size must be/],
		[422, "POST", "/network-volumes", { ...VOLUME, type: "FAST" }, /^\$\.type must be/],
		[400, "POST", "/network-volumes", { ...VOLUME, dataCenter: "EU-RO-1" }, /^\$\.dataCenter must be local/],
		[422, "PATCH", "/network-volumes/ID", {}, /^\$ must have at least one of name, size/],
		[422, "PATCH", "/network-volumes/ID", { type: "STANDARD" }, /^\$\.type /],
		[400, "PATCH", "/network-volumes/ID", { size: 50 }, /^\$\.size must be at least 100/],
		[422, "POST", "/account/secrets", { ...SECRET, name: "RunPod_x" }, /^\$\.name must be/],
		[422, "POST", "/account/secrets", { ...SECRET, name: "a b" }, /^\$\.name must be/],
		[422, "POST", "/account/secrets", { ...SECRET, value: "x".repeat(32_769) }, /^\$\.value must be/],
		[422, "PATCH", "/account/secrets/ID", {}, /^\$ must have at least one of value, description/],
		[422, "PATCH", "/account/secrets/ID", { name: "other" }, /^\$\.name /],
	])("%i %s %s: row %#", async (status, method, path, body, error) => {
		const kind = Object.entries(PATHS).find(([, [root]]) => path.startsWith(root))?.[0] ?? "templates";
		const { id } = await made(kind as keyof typeof PATHS, { name: `x${Math.random()}` });
		const answer = await ask(method, path.replace("ID", id), method === "GET" ? undefined : body);
		expect(answer.status, answer.text).toBe(status);
		expect(answer.headers.get("content-type")).toBe("application/problem+json");
		expect(answer.json.errors?.[0] ?? "").toMatch(error);
		await ask("DELETE", `${path.split("/").slice(0, -1).join("/")}/${id}`);
	});

	it.each(["/templates", "/network-volumes", "/account/secrets"])(
		"404 for PATCH of an unknown one: %s",
		async (path) => {
			const body = path === "/account/secrets" ? { value: "v" } : { name: "new" };
			expect((await ask("PATCH", `${path}/${UNKNOWN}`, body)).status).toBe(404);
		},
	);

	it("a taken name: 409 of a secret, 400 of a registry; others share one", async () => {
		await made("secrets", { name: "taken" });
		const secret = await ask("POST", "/account/secrets", { ...SECRET, name: "taken" });
		expect([secret.status, secret.json.title]).toEqual([409, "Conflict"]);
		await made("registries", { name: "taken" });
		const login = await ask("POST", "/registries", { ...LOGIN, name: "taken" });
		expect([login.status, login.json.errors]).toEqual([400, ["$.name is the name of another registry."]]);
		for (const kind of ["templates", "volumes"] as const) await made(kind, { name: "taken" });
		for (const kind of ["templates", "volumes"] as const) await made(kind, { name: "taken" });
	});

	it("the old spelling of network volumes is 404", async () => {
		expect((await ask("GET", "/networkvolumes")).status).toBe(404);
	});
});

describe("D49: templates", () => {
	it("has defaults, and its command in both forms", async () => {
		const { json } = await ask("POST", "/templates", { name: "plain", image: "a:1" });
		expect(json).toEqual({
			id: json.id,
			name: "plain",
			image: "a:1",
			args: "",
			cmd: [],
			entrypoint: [],
			disk: 20,
			mounts: {},
			ports: [],
			env: {},
			registry: null,
			serverless: false,
			public: false,
			category: "NVIDIA",
			startSsh: true,
			startJupyter: true,
			allowedCudaVersions: [],
		});
		expect(await made("templates")).toMatchObject({ args: TEMPLATE.args, cmd: ["python", "-u", "handler.py"] });
	});

	it("read, change nothing, write: the same", async () => {
		const { id, ...members } = await made("templates", {
			mounts: { persistent: { size: 10, path: "/workspace" } },
			ports: ["8000/http"],
			allowedCudaVersions: ["12.4"],
		});
		expect((await ask("PATCH", `/templates/${id}`, members)).json).toEqual({ id, ...members });
	});

	it("read, change nothing, write: the same, also once its secret is deleted", async () => {
		const secret = await made("secrets", { name: "soon_gone" });
		const { id, ...members } = await made("templates", { env: { A: "{{ RUNPOD_SECRET_soon_gone }}" } });
		await ask("DELETE", `/account/secrets/${secret.id}`);
		const { status, json, text } = await ask("PATCH", `/templates/${id}`, members);
		expect(status, text).toBe(200);
		expect(json).toEqual({ id, ...members });
	});

	it("two changes of a command at once both hold", async () => {
		const { id } = await made("templates", { args: "" });
		const changes = [{ cmd: ["a"] }, { entrypoint: ["b"] }, { disk: 7 }];
		await Promise.all(changes.map((change) => ask("PATCH", `/templates/${id}`, change)));
		expect((await ask("GET", `/templates/${id}`)).json).toMatchObject({ cmd: ["a"], entrypoint: ["b"], disk: 7 });
	});

	it("PATCH: env as a whole, {} keeps mounts, [] and null clear", async () => {
		const login = await made("registries", { name: "for templates" });
		const { id } = await made("templates", {
			mounts: { persistent: { size: 10, path: "/workspace" } },
			allowedCudaVersions: ["12.4"],
			registry: login.id,
		});
		const changed = await ask("PATCH", `/templates/${id}`, {
			env: { OTHER: "1" },
			mounts: {},
			allowedCudaVersions: [],
			entrypoint: ["/bin/run"],
		});
		expect(changed.json).toMatchObject({
			env: { OTHER: "1" },
			mounts: { persistent: { size: 10, path: "/workspace" } },
			allowedCudaVersions: [],
			registry: login.id,
			entrypoint: ["/bin/run"],
			cmd: ["python", "-u", "handler.py"],
		});
		expect((await ask("PATCH", `/templates/${id}`, { registry: null, args: "" })).json).toMatchObject({
			registry: null,
			entrypoint: [],
			cmd: [],
		});
		await ask("PATCH", `/templates/${id}`, { registry: login.id });
		expect((await ask("DELETE", `/registries/${login.id}`)).status).toBe(204);
		expect((await ask("GET", `/templates/${id}`)).json.registry).toBeNull();
	});

	it("pages, each template once; public ones are in the catalog", async () => {
		const ids = [];
		for (const name of ["p1", "p2", "p3"]) ids.unshift((await made("templates", { name, public: true })).id);
		const first = (await ask("GET", "/templates?limit=2")).json;
		expect(first.templates.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
		expect(first.pagination.hasNextPage).toBe(true);
		const next = (await ask("GET", `/templates?limit=1&cursor=${first.pagination.nextCursor}`)).json;
		expect(next.templates[0].id).toBe(ids[2]);
		const shown = (await ask("GET", "/catalog/templates")).json;
		expect(shown.templates.map(({ name }: { name: string }) => name)).toEqual(["p3", "p2", "p1"]);
		expect(shown.pagination).toEqual({ nextCursor: null, hasNextPage: false });
		expect((await ask("GET", "/catalog/templates?source=community")).json.templates).toEqual([]);
	});
});

describe("D49: volumes and secrets", () => {
	it("a volume: read, change nothing, write: the same; a new one is a volume of the launcher", async () => {
		const { id, ...volume } = await made("volumes");
		expect(volume).toEqual({ ...VOLUME, type: "STANDARD", source: `sluice-${id}` });
		const { name, size } = volume;
		expect((await ask("PATCH", `/network-volumes/${id}`, { name, size })).json).toEqual({ id, ...volume });
		expect((await ask("PATCH", `/network-volumes/${id}`, { name: "b", size: 200 })).json).toMatchObject({
			name: "b",
			size: 200,
		});
	});

	it("a secret: by name in any case, a description that clears, and the time of its value", async () => {
		const { id, ...secret } = await made("secrets", { name: "Mine", description: "of the lab" });
		expect(secret).toMatchObject({ name: "Mine", description: "of the lab", valueLastUpdatedAt: secret.createdAt });
		expect((await ask("GET", "/account/secrets?name=mINE")).json.secrets).toEqual([{ id, ...secret }]);
		const same = await ask("PATCH", `/account/secrets/${id}`, { description: "of the lab" });
		expect(same.json).toEqual({ id, ...secret });
		const cleared = await ask("PATCH", `/account/secrets/${id}`, { description: "", value: `${VALUE}-2` });
		expect(cleared.json.description).toBeNull();
		const { env } = await service.modules.workerVariables({ A: "{{RUNPOD_SECRET_Mine}}" });
		expect(env).toEqual({ A: `${VALUE}-2` });
	});

	it("values, users and passwords are in no answer, event and audit entry, and sealed in the store", async () => {
		await made("registries", { name: "shown" });
		await made("secrets", { name: "shown" });
		const answers = await Promise.all(
			["/v2/registries", "/v2/account/secrets", "/v1/audit", "/v1/registries"].map((path) => call(service.url, path)),
		);
		const all = [...answers.map(({ text }) => text), ...logged].join("\n");
		expect(all).not.toContain(PASSWORD);
		expect(all).not.toContain(VALUE);
		expect(all).not.toContain('"bot"');
	});
});

describe("D49: endpoints that use them", () => {
	const ENDPOINT = {
		name: "user",
		type: "QUEUE",
		image: "registry.example/captions:3",
		scaling: { type: "REQUEST_COUNT", requestCount: 1 },
		cpu: [{ id: "cpu5c", vcpuCount: 2 }],
	};

	it("a registry and a volume of an endpoint cannot be deleted before it; its secrets can", async () => {
		const [login, volume] = [await made("registries", { name: "used" }), await made("volumes", { name: "used" })];
		const { id } = await made("secrets", { name: "used" });
		const endpoint = await ask("POST", "/serverless", {
			...ENDPOINT,
			registry: login.id,
			networkVolumes: [volume.id],
			env: { TOKEN: "{{ RUNPOD_SECRET_used }}" },
		});
		expect(endpoint.status, endpoint.text).toBe(201);
		expect(service.engine.endpoints.get(endpoint.json.id).launcher).toMatchObject({
			registry: login.id,
			volumes: [`sluice-${volume.id}:/runpod-volume`],
		});
		for (const path of [`/registries/${login.id}`, `/network-volumes/${volume.id}`]) {
			const { status, json } = await ask("DELETE", path);
			expect([status, json.errors]).toEqual([400, [expect.stringContaining(`endpoints use it (${endpoint.json.id})`)]]);
		}
		expect((await ask("DELETE", `/account/secrets/${id}`)).status).toBe(204);
		await ask("PATCH", `/serverless/${endpoint.json.id}`, { registry: null });
		expect((await ask("DELETE", `/registries/${login.id}`)).status).toBe(204);
		expect((await ask("DELETE", `/serverless/${endpoint.json.id}`)).status).toBe(204);
		expect((await ask("DELETE", `/network-volumes/${volume.id}`)).status).toBe(204);
	});

	it("D50: a rollback to a version whose registry was deleted is refused; the endpoint stays as it is", async () => {
		const login = await made("registries", { name: "rolled back" });
		const { id } = (await ask("POST", "/serverless", { ...ENDPOINT, registry: login.id })).json;
		await ask("PATCH", `/serverless/${id}`, { registry: null });
		const rollBack = () => call(service.url, `/v1/endpoints/${id}/releases/1/rollback`, { method: "POST" });
		expect((await rollBack()).status).toBe(200);
		await ask("PATCH", `/serverless/${id}`, { registry: null });
		expect((await ask("DELETE", `/registries/${login.id}`)).status).toBe(204);
		const { status, json } = await rollBack();
		expect([status, json.error]).toEqual([404, expect.stringContaining(`no registry '${login.id}'`)]);
		expect((await ask("GET", `/serverless/${id}`)).json.registry).toBeNull();
		await ask("DELETE", `/serverless/${id}`);
	});

	it("a template fills in an endpoint, once", async () => {
		const { id } = await made("templates", { disk: 33 });
		const { image: _, ...body } = ENDPOINT;
		const endpoint = await ask("POST", "/serverless", { ...body, templateId: id, env: { MORE: "1" } });
		expect(endpoint.json).toMatchObject({ image: TEMPLATE.image, args: TEMPLATE.args, disk: 33 });
		expect(endpoint.json.env).toEqual({ MODEL: "small", MORE: "1" });
		await ask("PATCH", `/templates/${id}`, { image: "other:1" });
		expect((await ask("DELETE", `/templates/${id}`)).status).toBe(204);
		expect((await ask("GET", `/serverless/${endpoint.json.id}`)).json.image).toBe(TEMPLATE.image);
	});

	it("an unknown secret is 400, and a template that is not serverless 422", async () => {
		const secret = await ask("POST", "/serverless", { ...ENDPOINT, env: { TOKEN: "{{ RUNPOD_SECRET_none }}" } });
		expect([secret.status, secret.json.errors]).toEqual([400, [expect.stringContaining("'none'")]]);
		const { id } = await made("templates", { serverless: false });
		expect((await ask("POST", "/serverless", { ...ENDPOINT, templateId: id })).status).toBe(422);
		expect((await ask("POST", "/serverless", { ...ENDPOINT, templateId: UNKNOWN })).status).toBe(404);
	});
});

it.each(["kubernetes", "slurm"])("D49: a registry is 400 where nodes pull images: %s", async (type) => {
	const launcher = type === "slurm" ? { type, sharedDir: "/tmp" } : { type };
	const other = await startService({ endpoints: {}, settings: { management: { launcher } } });
	try {
		const { id } = (await call(other.url, "/v2/registries", { body: LOGIN })).json;
		const body = {
			name: "n",
			type: "QUEUE",
			image: "a:1",
			scaling: { type: "REQUEST_COUNT", requestCount: 1 },
			cpu: [{ id: "cpu5c", vcpuCount: 2 }],
			registry: id,
		};
		const { status, json } = await call(other.url, "/v2/serverless", { body });
		expect([status, json.errors]).toEqual([400, [expect.stringMatching(/^\$\.registry must be null: nodes of/)]]);
	} finally {
		await other.end();
	}
});
