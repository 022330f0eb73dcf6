/** `SLUICE_SECRET` is replaced by restarting servers on one PostgreSQL one by one (D22). */
import pg from "pg";
import { expect, it } from "vitest";
import { handWorker, submitted } from "../spec/hand-worker.ts";
import { servers } from "../support/servers.ts";

const S3 = { accessId: "i", accessSecret: "a-secret", bucketName: "b", endpointUrl: "https://s3" };
const endpoints = { ep: { env: { TOKEN: "a-token" } } };
const BOTH = { SLUICE_SECRET: "new", SLUICE_SECRET_PREVIOUS: "old" };

it("D22: servers with the old and with both secrets read the same texts; then all have the new key", {
	timeout: 120_000,
}, async () => {
	const group = await servers();
	const client = new pg.Client({ connectionString: group.store });
	await client.connect();
	const checks = async (): Promise<number> =>
		String((await client.query("SELECT value FROM meta WHERE name = 'seal'")).rows[0].value).split(
			" ",
		).length;
	const keys = async (): Promise<string[]> => {
		const { rows } = await client.query(
			"SELECT s3_config AS text FROM jobs UNION ALL SELECT settings || coalesce(secret, '') FROM endpoints",
		);
		return rows.flatMap(({ text }) =>
			[...String(text).matchAll(/\b1\.([0-9a-f]{8})\./g)].map(([, id]) => id!),
		);
	};
	try {
		const old = { endpoints, env: { SLUICE_SECRET: "old" } };
		const first = await group.start(old);
		const second = await group.start(old);
		await submitted(first, "ep", { input: { n: 1 }, s3Config: S3 });
		const [before] = await keys();

		await first.stop();
		const third = await group.start({ endpoints, env: BOTH });
		// The second server has the old secret alone: it must be able to read what the third one stores.
		await submitted(third, "ep", { input: { n: 2 }, s3Config: S3 });
		expect(new Set(await keys())).toEqual(new Set([before]));
		for (const n of [1, 2]) {
			const worker = await handWorker(second, "ep");
			expect(await worker.take()).toMatchObject({ input: { n }, s3Config: S3 });
		}
		await expect(group.start({ endpoints, env: { SLUICE_SECRET: "new" } })).rejects.toThrow(
			"SLUICE_SECRET is not the one",
		);

		await second.stop();
		const fourth = await group.start({ endpoints, env: BOTH });
		const resealed = Promise.race([
			third.next("secrets.resealed"),
			fourth.next("secrets.resealed"),
		]);
		await submitted(fourth, "ep", { input: { n: 3 }, s3Config: S3 });
		await resealed;
		const after = await keys();
		expect(after).toHaveLength(5);
		expect(new Set(after).size).toBe(1);
		expect(after[0]).not.toBe(before);
		expect(await checks()).toBe(1);

		await third.stop();
		const last = await group.start({ endpoints, env: { SLUICE_SECRET: "new" } });
		expect(last.engine.endpoints.get("ep").env).toEqual({ TOKEN: "a-token" });
		expect(last.engine.endpoints.webhookSecret("ep")).toMatchObject({ ok: true });
		await expect(group.start(old)).rejects.toThrow("SLUICE_SECRET is not the one");
	} finally {
		await client.end();
		await group.end();
	}
});
