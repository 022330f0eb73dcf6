/** `SLUICE_SECRET` is replaced by restarting servers on one PostgreSQL one by one (D22). */
import pg from "pg";
import { expect, it } from "vitest";
import { reencryptStore } from "../../src/kernel/stores.ts";
import { site } from "../e2e/site.ts";
import { browser } from "../spec/console/browser.ts";
import { handWorker, submitted } from "../spec/hand-worker.ts";
import { balancer } from "../support/balancer.ts";
import { freePort } from "../support/free-port.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { allEndedOnce, traffic } from "../support/traffic.ts";
import { until } from "../support/until.ts";

const S3 = { accessId: "i", accessSecret: "a-secret", bucketName: "b", endpointUrl: "https://s3" };
const endpoints = { ep: { env: { TOKEN: "a-token" } } };
const LOGIN = { username: "ci", password: "a-password" };
const OLD_FIRST = { SLUICE_SECRET: "old", SLUICE_SECRET_PREVIOUS: "new" };
const NEW_FIRST = { SLUICE_SECRET: "new", SLUICE_SECRET_PREVIOUS: "old" };

/** Encrypts everything with the new secret, as `sluice migrate --reencrypt` does. */
const renewed = (url: string) =>
	reencryptStore({ address: { kind: "postgres", url }, secret: "new", previousSecret: "old", check: false });

it("D22: servers with either secret first read the same texts; then a command leaves the new key only", {
	timeout: 120_000,
}, async () => {
	const group = await servers();
	const client = new pg.Client({ connectionString: group.store });
	await client.connect();
	const keys = async (): Promise<string[]> => {
		const { rows } = await client.query(
			"SELECT s3_config AS text FROM jobs UNION ALL SELECT settings || coalesce(secret, '') FROM endpoints " +
				"UNION ALL SELECT password FROM registries",
		);
		return rows.flatMap(({ text }) => [...String(text).matchAll(/\b1\.([0-9a-f]{8})\./g)].map(([, id]) => id!));
	};
	try {
		const first = await group.start({ endpoints, env: { SLUICE_SECRET: "old" } });
		await submitted(first, "ep", { input: { n: 1 }, s3Config: S3 });
		expect((await call(first.url, "/v1/registries/ghcr.io", { method: "PUT", body: LOGIN })).status).toBe(200);
		// A start encrypts those of the configuration file again.
		await first.engine.endpoints.create({ id: "made", ...endpoints.ep });
		const [before] = await keys();
		// A server with the old secret alone could not read what another one encrypts.
		await expect(group.start({ endpoints, env: NEW_FIRST })).rejects.toThrow(
			/The server at http\S+ cannot read what this SLUICE_SECRET encrypts\. First restart every server/,
		);
		const second = await group.start({ endpoints, env: OLD_FIRST });
		await first.stop();
		const third = await group.start({ endpoints, env: NEW_FIRST });
		await submitted(third, "ep", { input: { n: 2 }, s3Config: S3 });
		await submitted(second, "ep", { input: { n: 3 }, s3Config: S3 });
		for (const n of [1, 2, 3]) {
			const worker = await handWorker(n === 2 ? second : third, "ep");
			expect(await worker.take()).toMatchObject({ input: { n }, s3Config: S3 });
		}
		for (const env of [{ SLUICE_SECRET: "new" }, { SLUICE_SECRET: "old" }])
			await expect(group.start({ endpoints, env })).rejects.toThrow(/SLUICE_SECRET/);
		await expect(renewed(group.store)).rejects.toThrow(/The server at http\S+ still encrypts with another key/);
		expect(await keys()).toContain(before);

		await second.stop();
		expect(await renewed(group.store)).toEqual({
			endpoints: 1,
			releases: 2,
			registries: 1,
			resources: 0,
			jobs: 2,
			workers: 0,
		});
		const after = await keys();
		expect(after).toHaveLength(8);
		expect(new Set(after).size).toBe(1);
		expect(after).not.toContain(before);
		const last = await group.start({ endpoints, env: { SLUICE_SECRET: "new" } });
		for (const id of ["ep", "made"]) expect(last.engine.endpoints.get(id).env).toEqual({ TOKEN: "a-token" });
		expect(await last.modules.registryLogin("ghcr.io")).toEqual(LOGIN);
		for (const id of ["ep", "made"]) expect(last.engine.endpoints.webhookSecret(id)).toMatchObject({ ok: true });
		await expect(group.start({ endpoints, env: { SLUICE_SECRET: "old" } })).rejects.toThrow(
			"SLUICE_SECRET is not the one",
		);
	} finally {
		await client.end();
		await group.end();
	}
});

it("D22: two servers under load get another secret one by one: no request fails, no session ends, every secret opens", {
	timeout: 180_000,
}, async (test) => {
	const group = await servers();
	test.onTestFinished(() => group.end());
	const place = site(test);
	const external = { launcher: { type: "external" }, limits: "off" };
	const settings = { worked: external, waiting: external };
	const ports = [await freePort(), await freePort()];
	const spawn = (n: number, env: Record<string, string>, folder?: (typeof live)[number]["folder"]) =>
		group.spawn({
			endpoints: settings,
			port: ports[n]!,
			drainSeconds: 20,
			env,
			...(folder && { in: folder }),
		});
	const live: Awaited<ReturnType<typeof group.spawn>>[] = [];
	// Both can read the new key already; the test above shows how they get it.
	for (const n of [0, 1]) live.push(await spawn(n, OLD_FIRST));
	const front = await balancer(live.map(({ url }) => url));
	test.onTestFinished(() => front.close());
	await place.attach(front, "worked", { CONCURRENCY: "4" });
	const page = browser(front);
	await page.signIn();
	const secret = await call(front.url, "/v2/waiting/run", { body: { input: {}, s3Config: S3 } });
	const made = await call(front.url, "/v1/endpoints", {
		body: { id: "made", env: { TOKEN: "a-token" }, launcher: { type: "external" } },
	});
	expect([secret.status, made.status]).toEqual([200, 201]);

	const load = traffic({ urls: [front.url], endpoints: ["worked"], clients: 4 });
	async function restart(numbers: readonly number[], env: Record<string, string>): Promise<void> {
		for (const n of numbers) {
			const each = live[n]!;
			await load.more(5);
			expect(await each.end("SIGTERM")).toBe(0);
			await load.more(5);
			live[n] = await spawn(n, env, each.folder);
			await until("the balancer to know it", () => front.ready.every(Boolean));
			expect((await page.send("/v1/keys")).status).toBe(200);
		}
	}
	await restart([0, 1], NEW_FIRST);
	await renewed(group.store);
	await restart([0], { SLUICE_SECRET: "new" });
	await load.more(5);
	await load.end();
	await allEndedOnce({ load, urls: live.map(({ url }) => url), store: group.store });
	expect([front.failed, load.failures, load.wrong]).toEqual([[], [], []]);

	const [first] = live;
	const worker = await handWorker(first!, "waiting");
	expect(await worker.take()).toMatchObject({ id: secret.json.id, s3Config: S3 });
	const patched = await call(front.url, "/v1/endpoints/made", { method: "PATCH", body: {} });
	expect(patched.json.env).toEqual(["TOKEN"]);
	expect(live.map(({ stderr }) => stderr()).join("")).not.toContain("cannot be read");
});
