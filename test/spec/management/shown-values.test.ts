/** Values of variables, which the management API shows: to whom, and what is recorded of it (D42, D49). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith } from "../hand-worker.ts";
import { keyWith } from "../operator.ts";

const VALUE = "value-of-a-variable-0123";
const clock = manualClock();

let service: TestService;
let template: string;
beforeAll(async () => {
	const endpoints = { ep: { env: { TOKEN: VALUE } }, other: { env: { TOKEN: VALUE } }, bare: {} };
	service = await startService({ endpoints, clock, settings: { management: { launcher: "docker" } } });
	const body = { name: "t", image: "a:1", env: { TOKEN: VALUE }, public: true };
	template = (await call(service.url, "/v2/templates", { body })).json.id;
});
afterAll(() => endWith(service, clock));

/** What was recorded of these calls with a new admin key, the oldest first. */
async function recorded(paths: readonly string[], { key, id }: { key: string; id: string }, method = "GET") {
	const before = (await entriesOf(id)).length;
	for (const path of paths) {
		const { status, text } = await call(service.url, path, { key, method });
		expect(status, text).toBe(200);
		if (method === "GET" && !path.includes("bare")) expect(text).toContain(VALUE);
	}
	const entries = await entriesOf(id);
	return entries.slice(before).map(({ action, subject }) => [action, subject]);
}

async function entriesOf(id: string): Promise<{ action: string; subject: string[] }[]> {
	const { json, text } = await call(service.url, `/v1/audit?key=${id}&limit=100`);
	expect(text).not.toContain(VALUE);
	return json.entries.toReversed();
}

it("D42, D49: a read that shows values is recorded, once for a key and an object in ten minutes", async () => {
	const [one, two] = [await keyWith(service, ["admin"]), await keyWith(service, ["admin"])];
	const paths = ["/v2/serverless/ep", "/v2/serverless/ep", "/v2/serverless/bare", "/v2/serverless"];
	const found = [
		["getManaged", ["ep"]],
		["listManaged", ["other"]],
	];
	expect(await recorded(paths, one)).toEqual(found);
	expect(await recorded(paths, one)).toEqual([]);
	expect(await recorded(paths, two)).toEqual(found);
	await clock.advance(600_000);
	const [[action, subject] = []] = await recorded(["/v2/serverless"], one);
	expect([action, Array.from(subject ?? []).toSorted()]).toEqual(["listManaged", ["ep", "other"]]);
});

it("D42, D49: also one of templates; a HEAD shows none", async () => {
	const paths = [`/v2/templates/${template}`, "/v2/templates", "/v2/catalog/templates?source=official"];
	const actions = ["getTemplate", "listTemplates", "listPublicTemplates"];
	for (const [at, path] of paths.entries()) {
		const key = await keyWith(service, ["admin"]);
		expect(await recorded([path], key, "HEAD")).toEqual([]);
		expect(await recorded([path], key)).toEqual([[actions[at], [template]]]);
	}
});

it("D42: a page of many objects has entries of at most 50", async () => {
	const key = await keyWith(service, ["admin"]);
	for (let n = 0; n < 60; n += 1)
		await call(service.url, "/v2/templates", { body: { name: `t${n}`, image: "a:1", env: { TOKEN: VALUE } } });
	const found = await recorded(["/v2/templates"], key);
	expect(found.map(([, subject]) => subject?.length)).toEqual([50, 11]);
});

it("D30, D49: keys that may not write the values do not get them, on any route", async () => {
	const { key } = await keyWith(service, ["read", "write"]);
	for (const path of ["/v2/serverless", "/v2/serverless/ep", "/v2/templates", `/v2/templates/${template}`]) {
		const { status, text } = await call(service.url, path, { key });
		expect([path, status]).toEqual([path, 403]);
		expect(text).not.toContain(VALUE);
	}
	for (const path of ["/v1/endpoints", "/v1/endpoints/ep", "/v1/endpoints/ep/releases"]) {
		const { status, text } = await call(service.url, path, { key });
		expect([path, status]).toEqual([path, 200]);
		expect(text).not.toContain(VALUE);
	}
});
