/** Files at two servers that share a PostgreSQL (D56): each has all of them, and bounds are those of both. */
import { randomBytes } from "node:crypto";
import { toFile } from "openai";
import { expect, it } from "vitest";
import { call } from "../support/service.ts";
import { clientOf, contentOf } from "../spec/client/files/files-client.ts";
import { a, b, fresh, useTwoServers } from "./two-servers.ts";

useTwoServers();

const CONTENT = randomBytes(2 * 2 ** 20 + 5);

it("D18, D56: a file of one server is read, listed and deleted at the other", async () => {
	const endpoint = await fresh();
	const [one, other] = [clientOf(a, endpoint), clientOf(b, endpoint)];
	const made = await one.files.create({ file: await toFile(CONTENT, "a.bin"), purpose: "user_data" });
	expect(await other.files.retrieve(made.id)).toEqual(made);
	expect((await contentOf(other, made.id)).equals(CONTENT)).toBe(true);
	const range = await other.files.content(made.id, { headers: { Range: "bytes=1048570-1048585" } });
	expect(Buffer.from(await range.arrayBuffer()).equals(CONTENT.subarray(1_048_570, 1_048_586))).toBe(true);
	expect((await other.files.list()).data.map(({ id }) => id)).toEqual([made.id]);
	await other.files.delete(made.id);
	await expect(one.files.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
	await expect(one.files.content(made.id)).rejects.toMatchObject({ status: 404 });
});

it("D18, D56: uploads at both servers are all stored, and the totals are those of both", async () => {
	const endpoint = await fresh();
	const servers = [a, b, a, b, a, b];
	const made = await Promise.all(
		servers.map(async (server, n) => {
			const file = await toFile(CONTENT, `${n}`);
			return await clientOf(server, endpoint).files.create({ file, purpose: "vision" });
		}),
	);
	const { data } = (await call(b.url, `/v2/${endpoint}/openai/v1/files`)).json;
	expect(data.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
	const totals = await a.engine.kernel.store.files.totals();
	expect(totals.find((each) => each.endpoint === endpoint)).toMatchObject({ files: 6, bytes: 6 * CONTENT.length });
	for (const [n, { id }] of made.entries())
		expect((await contentOf(clientOf(servers[n] === a ? b : a, endpoint), id)).equals(CONTENT)).toBe(true);
});

it("D39, D56: an endpoint that is deleted at one server has no files at the other", async () => {
	const endpoint = await fresh();
	const file = await toFile(CONTENT, "a.bin");
	const { id } = await clientOf(a, endpoint).files.create({ file, purpose: "user_data" });
	const deleted = a.next("endpoint.deleted", (facts) => facts.endpoint === endpoint);
	const elsewhere = b.next("endpoint.deleted", (facts) => facts.endpoint === endpoint);
	expect((await call(b.url, `/v1/endpoints/${endpoint}`, { method: "DELETE" })).status).toBe(200);
	await Promise.race([deleted, elsewhere]);
	expect(await a.engine.kernel.store.files.unknown({ ids: [id] })).toEqual([id]);
	const totals = await b.engine.kernel.store.files.totals();
	expect(totals.map((each) => each.endpoint)).not.toContain(endpoint);
});
