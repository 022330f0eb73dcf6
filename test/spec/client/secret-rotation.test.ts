/** `SLUICE_SECRET` is replaced on a store that one server has (D22, decision 0033). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { keyId } from "../../../src/engine/access/encryption.ts";
import { migrateStore } from "../../../src/stores.ts";
import { folder, type Folder, startService } from "../../support/service.ts";
import { handWorker, submitted } from "../hand-worker.ts";

const S3 = { accessId: "i", accessSecret: "a-secret", bucketName: "b", endpointUrl: "https://s3" };
const endpoints = { ep: { env: { TOKEN: "a-token" } } };

/** The ids of the keys of all encrypted texts. */
function keyIds(place: Folder): string[] {
	const db = new DatabaseSync(join(place.path, "sluice.db"));
	const texts = [
		...db.prepare("SELECT s3_config AS text FROM jobs WHERE s3_config IS NOT NULL").all(),
		...db.prepare("SELECT settings AS text FROM endpoints").all(),
		...db.prepare("SELECT secret AS text FROM endpoints").all(),
	].flatMap(({ text }) => [...String(text).matchAll(/\b1\.([0-9a-f]{8})\./g)].map(([, id]) => id!));
	db.close();
	return texts;
}

it("D22: a new SLUICE_SECRET beside the previous one: all texts have its key after one start", async () => {
	const place = folder();
	try {
		const first = await startService({ endpoints, in: place, env: { SLUICE_SECRET: "old" } });
		await submitted(first, "ep", { input: {}, s3Config: S3 });
		await first.end();
		const before = keyIds(place);
		expect(before).toHaveLength(3);
		const env = { SLUICE_SECRET: "new" };
		await expect(startService({ endpoints, in: place, env })).rejects.toThrow("is not the one");
		await (await startService({ endpoints, in: place, env: { ...env, SLUICE_SECRET_PREVIOUS: "old" } })).end();
		const after = keyIds(place);
		expect(after).toHaveLength(3);
		expect(new Set(after).size).toBe(1);
		expect(after[0]).not.toBe(before[0]);
		const last = await startService({ endpoints, in: place, env });
		const worker = await handWorker(last, "ep");
		expect(await worker.take()).toMatchObject({ s3Config: S3 });
		expect(last.engine.endpoints.get("ep").env).toEqual({ TOKEN: "a-token" });
		expect(last.engine.endpoints.webhookSecret("ep")).toMatchObject({ ok: true });
		await last.end();
		await expect(startService({ endpoints, in: place, env: { SLUICE_SECRET: "old" } })).rejects.toThrow(
			"is not the one",
		);
	} finally {
		place.remove();
	}
});

it("D22: migrate --rotate-secret: the next start uses the new key of the file and removes the old one", async () => {
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
		await (await startService({ endpoints, in: place })).end();
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
