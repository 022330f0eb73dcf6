/** `SLUICE_SECRET` is replaced on a store that one server has (D22, decision 0033). */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { hiddenMember } from "../../../src/kernel/engine/workers/launch/shown-text.ts";
import { encryption, keyId } from "../../../src/kernel/secrets/encryption.ts";
import { fromText } from "../../../src/kernel/secrets/secret-key.ts";
import { openSqlite } from "../../../src/kernel/store/sqlite/open.ts";
import { migrateStore, reencryptStore } from "../../../src/kernel/stores.ts";
import { call, folder, type Folder, startService } from "../../support/service.ts";
import { handWorker, submitted } from "../hand-worker.ts";

const S3 = { accessId: "i", accessSecret: "a-secret", bucketName: "b", endpointUrl: "https://s3" };
const LOGIN = { username: "ci", password: "a-password" };
const endpoints = { ep: { env: { TOKEN: "a-token" } } };

/** The ids of the keys of all encrypted texts. */
function keyIds(place: Folder): string[] {
	const db = new DatabaseSync(join(place.path, "sluice.db"));
	const texts = [
		...db.prepare("SELECT s3_config AS text FROM jobs WHERE s3_config IS NOT NULL").all(),
		...db.prepare("SELECT settings AS text FROM endpoints").all(),
		...db.prepare("SELECT secret AS text FROM endpoints").all(),
		...db.prepare("SELECT settings AS text FROM releases").all(),
		...db.prepare("SELECT password AS text FROM registries").all(),
		...db.prepare("SELECT sealed AS text FROM resources").all(),
		...db.prepare("SELECT handle AS text FROM workers").all(),
	].flatMap(({ text }) => [...String(text).matchAll(/\b1\.([0-9a-f]{8})\./g)].map(([, id]) => id!));
	db.close();
	return texts;
}

/** Creates an object of the management API; returns its id. */
async function made({ url }: { url: string }, path: string, body: object): Promise<string> {
	const { status, text, json } = await call(url, path, { body });
	expect(status, text).toBe(201);
	return json.id;
}

/** A launched worker that was started under this secret and still runs. */
async function storeWorker(path: string, secret: string): Promise<void> {
	const store = await openSqlite({ path });
	const hidden = hiddenMember({ TOKEN: "a-token" }, encryption([fromText(secret)], randomBytes));
	const handle = JSON.stringify({ pid: 1, ...hidden });
	await store.workers.put({ id: "ep-1", endpoint: "ep", launcher: "process", handle, createdAt: 0 });
	await store.close();
}

it("D22: a new SLUICE_SECRET beside the previous one: both are read until migrate --reencrypt has run", async () => {
	const place = folder();
	const address = { kind: "sqlite", path: join(place.path, "sluice.db") } as const;
	const replaced = (check: boolean) => reencryptStore({ address, secret: "new", previousSecret: "old", check });
	const env = { SLUICE_SECRET: "new", SLUICE_SECRET_PREVIOUS: "old" };
	try {
		const first = await startService({ endpoints, in: place, env: { SLUICE_SECRET: "old" } });
		await submitted(first, "ep", { input: {}, s3Config: S3 });
		expect((await call(first.url, "/v1/registries/ghcr.io", { method: "PUT", body: LOGIN })).status).toBe(200);
		await made(first, "/v2/account/secrets", { name: "s", value: "a-value" });
		const login = await made(first, "/v2/registries", { name: "l", ...LOGIN });
		const template = await made(first, "/v2/templates", { name: "t", image: "a:1", env: { TOKEN: "a-token" } });
		// A start encrypts those of the configuration file again.
		await first.engine.endpoints.create({ id: "made", ...endpoints.ep });
		await expect(replaced(false)).rejects.toThrow("in use by another process");
		await first.end();
		const [before] = keyIds(place);
		await expect(startService({ endpoints, in: place, env: { SLUICE_SECRET: "new" } })).rejects.toThrow(
			"is not the one",
		);
		const both = await startService({ endpoints, in: place, env });
		await submitted(both, "ep", { input: {}, s3Config: S3 });
		const worker = await handWorker(both, "ep");
		for (const s3Config of [S3, S3]) expect(await worker.take()).toMatchObject({ s3Config });
		await both.end();
		expect(keyIds(place).filter((id) => id === before)).toHaveLength(9);
		await storeWorker(address.path, "old");
		await expect(startService({ endpoints, in: place, env: { SLUICE_SECRET: "new" } })).rejects.toThrow(
			"'sluice migrate --reencrypt'",
		);
		const one = { endpoints: 1, releases: 2, registries: 1, resources: 3, jobs: 1, workers: 1 };
		expect(await replaced(true)).toEqual(one);
		expect(keyIds(place)).toContain(before);
		expect(await replaced(false)).toEqual(one);
		expect(new Set(Object.values(await replaced(false)))).toEqual(new Set([0]));
		const after = keyIds(place);
		expect(after).toHaveLength(13);
		expect(new Set(after).size).toBe(1);
		expect(after).not.toContain(before);
		const last = await startService({ endpoints, in: place, env: { SLUICE_SECRET: "new" } });
		for (const id of ["ep", "made"]) {
			expect(last.engine.endpoints.get(id).env).toEqual({ TOKEN: "a-token" });
			expect(last.engine.endpoints.webhookSecret(id)).toMatchObject({ ok: true });
		}
		expect(await last.modules.registryLogin("ghcr.io")).toEqual(LOGIN);
		const { env: variables } = await last.modules.workerVariables({ A: "{{ RUNPOD_SECRET_s }}" });
		expect(variables).toEqual({ A: "a-value" });
		expect(await last.modules.registryLogin("", login)).toEqual(LOGIN);
		expect((await call(last.url, `/v2/templates/${template}`)).json.env).toEqual({ TOKEN: "a-token" });
		await last.end();
		await expect(startService({ endpoints, in: place, env: { SLUICE_SECRET: "old" } })).rejects.toThrow(
			"is not the one",
		);
	} finally {
		place.remove();
	}
});

it("D22: a new key of the key file: the earlier one is in its second line until all is encrypted again", async () => {
	const place = folder();
	const path = join(place.path, "sluice.db");
	const address = { kind: "sqlite", path } as const;
	const rotate = () => migrateStore({ address, check: false, rotateSecret: true });
	try {
		const first = await startService({ endpoints, in: place });
		await submitted(first, "ep", { input: {}, s3Config: S3 });
		await expect(rotate()).rejects.toThrow("in use by another process");
		await first.end();
		const old = readFileSync(`${path}.secret`, "utf8");
		await rotate();
		await expect(rotate()).rejects.toThrow("already has a new key");
		const [current = "", previous] = readFileSync(`${path}.secret`, "utf8").split("\n");
		expect(previous).toBe(old);
		// A start before the command, as after a crash of it, reads both.
		await (await startService({ endpoints, in: place })).end();
		await reencryptStore({ address, secret: undefined, previousSecret: undefined, check: false });
		expect(readFileSync(`${path}.secret`, "utf8")).toBe(current);
		expect(new Set(keyIds(place))).toEqual(new Set([keyId(Buffer.from(current, "hex"))]));
		writeFileSync(`${path}.secret`, old);
		await expect(startService({ endpoints, in: place })).rejects.toThrow("is not the one");
		writeFileSync(`${path}.secret`, current);
		const last = await startService({ endpoints, in: place });
		const worker = await handWorker(last, "ep");
		expect(await worker.take()).toMatchObject({ s3Config: S3 });
		await last.end();
	} finally {
		place.remove();
	}
});
