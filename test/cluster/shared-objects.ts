/** Objects that any server changes, with the operations of `/v1` and `/v2` that change them. */
import { expect } from "vitest";
import { call } from "../support/service.ts";

/** What a server answered, without what differs each time, such as ids and times. */
type Answer = readonly unknown[];

export interface SharedObject {
	/** Makes one at this server and returns its id. */
	make(url: string): Promise<string>;
	/** Each at a server. */
	operations: Readonly<Record<string, (url: string, id: string) => Promise<Answer>>>;
	/** What a server shows of the object, read from the store. */
	state(url: string, id: string): Promise<unknown>;
	/** Whether a deletion ends in the background, so that what comes after it depends on the time. */
	endsLater?: boolean;
}

let made = 0;
const ask = async (url: string, request: string, body?: unknown) => {
	const [method = "", path = ""] = request.split(" ");
	return await call(url, path, { method, ...(body === undefined ? {} : { body }) });
};
const statusOf = async (...q: Parameters<typeof ask>): Promise<Answer> => [(await ask(...q)).status];

async function created(url: string, request: string, body: unknown): Promise<any> {
	const { status, text, json } = await ask(url, request, body);
	expect(status, text).toBe(201);
	return json;
}

const SETTINGS = { name: "made", launcher: { type: "external" }, workersMax: 2, env: { A: "0", B: "0" } };

const ENDPOINT_OPERATIONS: SharedObject["operations"] = {
	create: (url, id) => statusOf(url, "POST /v1/endpoints", { ...SETTINGS, id, name: "created" }),
	rename: (url, id) => statusOf(url, `PATCH /v1/endpoints/${id}`, { name: "renamed" }),
	"set A": (url, id) => statusOf(url, `PATCH /v1/endpoints/${id}`, { env: { ...SETTINGS.env, A: "1" }, workersMax: 3 }),
	"set limits": (url, id) => statusOf(url, `PATCH /v1/endpoints/${id}`, { idleTimeout: 77 }),
	put: async (url, id) => {
		const { status, json } = await ask(url, `PUT /v1/endpoints/${id}`, { ...SETTINGS, name: "put", env: { A: "2" } });
		return [status, json.action, json.applied];
	},
	pause: (url, id) => statusOf(url, `POST /v1/endpoints/${id}/pause`),
	delete: (url, id) => statusOf(url, `DELETE /v1/endpoints/${id}`),
	"renew the secret": (url, id) => statusOf(url, `POST /v1/endpoints/${id}/webhook-secret`),
	"roll back": (url, id) => statusOf(url, `POST /v1/endpoints/${id}/releases/1/rollback`),
	"set B over /v2": (url, id) => statusOf(url, `PATCH /v2/serverless/${id}`, { env: { ...SETTINGS.env, B: "1" } }),
};

async function endpointState(url: string, id: string): Promise<unknown> {
	// Reads the store again.
	await ask(url, `PUT /v1/endpoints/${id}?dryRun=true`, SETTINGS);
	const { status, json } = await ask(url, `GET /v1/endpoints/${id}`);
	if (status !== 200) return status;
	const { name, workersMax, idleTimeout, paused, version, formerWebhookSecretUntil } = json;
	const { env } = (await ask(url, `GET /v2/serverless/${id}`)).json;
	const { releases } = (await ask(url, `GET /v1/endpoints/${id}/releases`)).json;
	const versions = releases.map((each: any) => [each.version, each.source, each.diff]);
	return {
		name,
		workersMax,
		idleTimeout,
		paused,
		version,
		env,
		versions,
		renewed: formerWebhookSecretUntil !== undefined,
	};
}

const newId = (): string => `shared-${(made += 1)}`;

/** An object of the management API, whose list members are all shown. */
function resource(
	path: string,
	body: object,
	{ shown, ...more }: { shown: readonly string[] } & Readonly<Record<string, object | readonly string[]>>,
): SharedObject {
	const changes = Object.entries(more).map(([name, change]) => [
		name,
		(url: string, id: string) => statusOf(url, `PATCH ${path}/${id}`, change),
	]);
	return {
		make: async (url) => (await created(url, `POST ${path}`, { name: newId(), ...body })).id,
		operations: { ...Object.fromEntries(changes), delete: (url, id) => statusOf(url, `DELETE ${path}/${id}`) },
		async state(url, id) {
			const { status, json } = await ask(url, `GET ${path}/${id}`);
			return status === 200 ? shown.map((name) => json[name]) : status;
		},
	};
}

export const SHARED_OBJECTS: Readonly<Record<string, SharedObject>> = {
	endpoint: {
		async make(url) {
			const { id } = await created(url, "POST /v1/endpoints", { ...SETTINGS, id: newId() });
			expect(await statusOf(url, `PATCH /v1/endpoints/${id}`, { env: { ...SETTINGS.env, C: "0" } })).toEqual([200]);
			return id;
		},
		operations: ENDPOINT_OPERATIONS,
		state: endpointState,
		endsLater: true,
	},
	"id without an endpoint": {
		make: () => Promise.resolve(newId()),
		operations: Object.fromEntries(
			["create", "put", "rename", "delete"].map((name) => [name, ENDPOINT_OPERATIONS[name]!]),
		),
		state: endpointState,
		endsLater: true,
	},
	template: resource(
		"/v2/templates",
		{ image: "a:1", env: { A: "0" }, serverless: true },
		{ shown: ["image", "env", "disk"], "set env": { env: { A: "1" } }, "set disk": { disk: 33 } },
	),
	secret: resource(
		"/v2/account/secrets",
		{ value: "v" },
		{ shown: ["description"], "set value": { value: "w" }, describe: { description: "d" } },
	),
	volume: resource(
		"/v2/network-volumes",
		{ name: "made", size: 10, dataCenter: "local" },
		{ shown: ["name", "size"], grow: { size: 20 }, "grow more": { size: 30 }, rename: { name: "renamed" } },
	),
	key: {
		make: async (url) => (await created(url, "POST /v1/keys", { name: "k", scopes: ["read"] })).id,
		operations: {
			rotate: (url, id) => statusOf(url, `POST /v1/keys/${id}/rotate`, {}),
			"rotate with an end": (url, id) =>
				statusOf(url, `POST /v1/keys/${id}/rotate`, { expiresAt: "2099-01-01T00:00:00Z" }),
			revoke: (url, id) => statusOf(url, `DELETE /v1/keys/${id}`),
		},
		async state(url, id) {
			const { keys } = (await ask(url, "GET /v1/keys")).json;
			const found = keys.find((each: any) => each.id === id);
			return found && [found.expiresAt];
		},
	},
	silence: {
		make: (url) => created(url, "POST /v1/endpoints", { ...SETTINGS, id: newId() }).then(({ id }) => id),
		operations: {
			silence: (url, endpoint) => statusOf(url, "PUT /v1/alerts/SluiceNoWorkers/silence", { endpoint, comment: "a" }),
			"silence another": (url, endpoint) => statusOf(url, "PUT /v1/alerts/SluiceOldestWait/silence", { endpoint }),
			end: (url, endpoint) => statusOf(url, `DELETE /v1/alerts/SluiceNoWorkers/silence?endpoint=${endpoint}`),
		},
		async state(url, id) {
			const { silences } = (await ask(url, "GET /v1/alerts")).json;
			return silences.flatMap((each: any) => (each.endpoint === id ? [[each.alert, each.comment]] : [])).toSorted();
		},
	},
};
