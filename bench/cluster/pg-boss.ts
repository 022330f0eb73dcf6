/**
 * pg-boss. Workers are woken by LISTEN/NOTIFY and fetch batches; few of them, for each notification
 * wakes them all. Polling alone takes half a second wherever a batch comes back short. Larger pools
 * are slower: commits that notify wait for each other.
 */
import { type Contender, numbered } from "./contender.ts";
import { installed } from "./packages.ts";

const SETTINGS = { max: 16, localConcurrency: 2, batchSize: 64, burstWhenBatchFull: true };

export async function startPgBoss(url: string): Promise<Contender> {
	const { api, version } = await installed("pg-boss");
	const { max, ...work } = SETTINGS;
	const boss = new api.PgBoss({
		connectionString: url,
		max,
		useListenNotify: true,
		schedule: false,
	});
	boss.on("error", (error: unknown) => console.error(error));
	const { end, run } = numbered();
	await boss.start();
	await boss.createQueue("noop", { notify: true });
	await boss.work("noop", work, async (jobs: { data: { n: number } }[]) => {
		// Before their completion is on disk: nothing tells when it is.
		for (const { data } of jobs) end(data.n);
	});
	return {
		version,
		run: (q) =>
			run({
				...q,
				submit: (payload) => boss.send("noop", payload),
				async settled() {
					const open = "SELECT 1 FROM pgboss.job WHERE name = 'noop' AND state < 'completed' LIMIT 1";
					while ((await boss.getDb().executeSql(open)).rows.length > 0);
				},
			}),
		stop: () => boss.stop({ graceful: true, close: true, timeout: 5000 }),
	};
}
