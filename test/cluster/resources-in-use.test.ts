/**
 * A registry login or a network volume is deleted at one server while another one stores an endpoint that names it:
 * either the deletion is refused, or the endpoint (D49).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { call } from "../support/service.ts";

const TRIES = 15;

const SETTINGS = {
	name: "made",
	type: "QUEUE",
	image: "a:1",
	cpu: [{ id: "cpu3c", vcpuCount: 2 }],
	scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
	workers: { min: 0, max: 1 },
};

const KINDS = {
	registry: {
		path: "/v2/registries",
		body: { username: "u", password: "p" },
		member: (id: string) => ({ registry: id }),
	},
	"network volume": {
		path: "/v2/network-volumes",
		body: { size: 10, dataCenter: "local" },
		member: (id: string) => ({ networkVolumes: [id] }),
	},
};

let made = 0;
let group: Servers;
let a: TestServer;
let b: TestServer;
beforeAll(async () => {
	group = await servers();
	const config = { management: { launcher: "docker" } };
	a = await group.start({ config });
	b = await group.start({ config });
});
afterAll(() => group?.end());

async function create(path: string, body: object): Promise<string> {
	const { status, text, json } = await call(a.url, path, { body: { name: `n-${(made += 1)}`, ...body } });
	expect(status, text).toBe(201);
	return json.id;
}

describe.each(Object.entries(KINDS))("D49: a %s that is deleted while", (_, { path, body, member }) => {
	const remove = (id: string) => call(a.url, `${path}/${id}`, { method: "DELETE" });

	it("another server creates an endpoint with it: one of the two is refused", async () => {
		for (let n = 0; n < TRIES; n += 1) {
			const id = await create(path, body);
			const creation = call(b.url, "/v2/serverless", { body: { ...SETTINGS, ...member(id) } });
			const [created, removed] = await Promise.all([creation, remove(id)]);
			expect([
				[201, 400],
				[404, 204],
			]).toContainEqual([created.status, removed.status]);
		}
	});

	it("another server sets it in an endpoint: one of the two is refused", async () => {
		const endpoint = await create("/v2/serverless", SETTINGS);
		for (let n = 0; n < TRIES; n += 1) {
			const id = await create(path, body);
			const set = call(b.url, `/v2/serverless/${endpoint}`, { method: "PATCH", body: member(id) });
			const [changed, removed] = await Promise.all([set, remove(id)]);
			expect([
				[200, 400],
				[404, 204],
			]).toContainEqual([changed.status, removed.status]);
		}
	});
});
