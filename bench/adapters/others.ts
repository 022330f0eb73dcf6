/** pg-boss and graphile-worker, with the settings that `bench/cluster` found best for them. */
import { installed } from "../cluster/packages.ts";
import type { JobData, Queue, QueueOptions } from "./queue.ts";

/** pg-boss runs batches; so many of them side by side. */
const BATCHES = 2;

export async function startPgBoss({ url, workers, work }: QueueOptions): Promise<Queue> {
	const { api, version } = await installed("pg-boss");
	const boss = new api.PgBoss({
		connectionString: url,
		max: 16,
		useListenNotify: true,
		schedule: false,
	});
	boss.on("error", (error: unknown) => console.error(error));
	await boss.start();
	await boss.createQueue("bench", { notify: true });
	const waiting = "SELECT count(*) FROM pgboss.job WHERE name = 'bench' AND state < 'active'";
	const settings = {
		localConcurrency: BATCHES,
		batchSize: Math.max(1, Math.ceil(workers / BATCHES)),
		burstWhenBatchFull: true,
	};
	await boss.work("bench", settings, (jobs: { data: JobData }[]) => Promise.all(jobs.map(({ data }) => work(data))));
	return {
		version,
		insert: (jobs) =>
			boss.insert(
				"bench",
				jobs.map((data) => ({ data })),
			),
		// Its own count may be a minute old.
		depth: async () => Number((await boss.getDb().executeSql(waiting)).rows[0].count),
		stop: () => boss.stop({ graceful: true, close: true, timeout: 5000 }),
	};
}

export async function startGraphileWorker({ url, workers, work }: QueueOptions): Promise<Queue> {
	// Read when the package is loaded.
	process.env["NO_LOG_SUCCESS"] = "1";
	const { api, version } = await installed("graphile-worker");
	const logger = new api.Logger(
		() => (level: string, message: string) => void (level === "error" && console.error(message)),
	);
	const settings = {
		concurrentJobs: workers,
		maxPoolSize: workers + 2,
		localQueue: { size: workers + 1 },
		completeJobBatchDelay: 0,
	};
	const runner = await api.run({
		preset: { worker: { connectionString: url, logger, ...settings } },
		noHandleSignals: true,
		taskList: { bench: (data: JobData) => work(data) },
	});
	const utils = await api.makeWorkerUtils({ connectionString: url, maxPoolSize: 16, logger });
	const counted = "SELECT count(*) FROM graphile_worker._private_jobs WHERE locked_at IS NULL";
	return {
		version,
		insert: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: "bench", payload }))),
		depth: async () =>
			Number(
				await utils.withPgClient(
					async (client: { query(sql: string): Promise<{ rows: { count: string }[] }> }) =>
						(await client.query(counted)).rows[0]!.count,
				),
			),
		async stop() {
			await runner.stop();
			await utils.release();
		},
	};
}
