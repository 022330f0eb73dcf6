/**
 * PostgreSQL crashes under load and is back at once, or its synchronous standby is promoted: every
 * acknowledged job and result is there (D17, decision 0017). `SLUICE_CRASHES` and
 * `SLUICE_PROMOTIONS` say how many of each; a few by default.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { postgresPair, query } from "../support/postgres-pair.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { storeLoad } from "../support/store-load.ts";

const CRASHES = Number(process.env["SLUICE_CRASHES"] ?? 4);
const PROMOTIONS = Number(process.env["SLUICE_PROMOTIONS"] ?? 1);
const LANES = 12;
/** Jobs between two crashes, at least. */
const JOBS = 40;

/** What is to be ended, the latest first. */
type Ends = (() => Promise<void> | void)[];

async function open(urls: readonly string[], ends: Ends): Promise<Store[]> {
	const stores: Store[] = [];
	for (const url of urls) stores.push(await openPostgres({ url, clock: systemClock }));
	ends.unshift(async () => void (await Promise.all(stores.map((store) => store.close()))));
	return stores;
}

/**
 * Kills a process of the server that runs a transaction of ours: the others end with it, and it
 * starts again.
 */
async function killBackend(server: PostgresServer, name: string): Promise<void> {
	for (;;) {
		const [found] = await query<{ pid: number }>(
			server,
			`SELECT pid FROM pg_stat_activity WHERE datname = '${name}' AND xact_start IS NOT NULL ORDER BY random() LIMIT 1`,
		);
		if (found) return void process.kill(found.pid, "SIGKILL");
	}
}

it.each([1, 2])(
	"D17: the database crashes under the load of %i server(s): nothing acknowledged is lost or done twice",
	{ timeout: 60_000 + CRASHES * 10_000 },
	async (count) => {
		const ends: Ends = [];
		const server = await startPostgres();
		try {
			const { name, url } = await server.createDatabase();
			const stores = await open(
				Array.from({ length: count }, () => url),
				ends,
			);
			const load = storeLoad({ stores, lanes: LANES });
			const crashes = Math.ceil(CRASHES / 2);
			for (let n = 0; n < crashes; n += 1) {
				await load.more(JOBS);
				await sleep(Math.random() * 50);
				if (n % 2 === 0) await killBackend(server, name);
				else {
					await server.crash();
					await server.start();
				}
			}
			await load.more(JOBS);
			process.stdout.write(`${count} server(s), ${crashes} crashes: ${await load.check(url)}\n`);
		} finally {
			for (const end of ends) await end();
			await server.remove();
		}
	},
);

it("D17: a synchronous standby is promoted under the load of two servers: nothing is lost or done twice", {
	timeout: 60_000 + PROMOTIONS * 20_000,
}, async () => {
	for (let n = 0; n < PROMOTIONS; n += 1) {
		const ends: Ends = [];
		const pair = await postgresPair();
		try {
			const { name } = await pair.primary().createDatabase();
			const stores = await open([pair.url(name), pair.url(name)], ends);
			const load = storeLoad({ stores, lanes: LANES });
			await load.more(JOBS * 3);
			await sleep(Math.random() * 50);
			const began = performance.now();
			await pair.failover(n % 2 === 0 ? "killed" : "isolated");
			const ms = performance.now() - began;
			await load.more(JOBS * 2);
			process.stdout.write(
				`promotion ${n + 1} in ${ms.toFixed(0)} ms: ${await load.check(pair.primary().url(name))}\n`,
			);
		} finally {
			for (const end of ends) await end();
			await pair.remove();
		}
	}
});
