/**
 * What a claim touches when the queue is long, or much has been through it: pages of the statement
 * that finds waiting jobs (EXPLAIN), and of all statements of whole claims through the store
 * (`pg_stat_statements`). `node bench/claim-pages.ts [many]`; minutes for a million.
 */
import { Client } from "pg";
import { systemClock } from "../src/kernel/system/clock.ts";
import { NEXT_WAITING } from "../src/kernel/store/postgres/queries/claim.ts";
import { openPostgres } from "../src/kernel/store/postgres/open.ts";
import { prepareSchema } from "../src/kernel/store/postgres/schema.ts";
import { startDatabase } from "./cluster/database.ts";
import { machine } from "./machine.ts";

const many = Number(process.argv[2] ?? 1_000_000);
const FEW = 1000;
const ENDPOINT = "noop";
const DAY_MS = 86_400_000;
/** Claims through the store, one job each, one after the other. */
const CLAIMS = 50;

/** Adds waiting jobs of 200 bytes, as `insert` would have; their counts too. */
const FILL = `
  INSERT INTO jobs (endpoint, id, number, operation, low_priority, state, submitted_at, queued_at, attempt, losses, returns, missed, ttl_ms, execution_timeout_ms,
    lease_ms, retain_ms, record_ms, erased, due_at, rank, epoch, past, next_chunk, cursor, input)
  SELECT $1, gen_random_uuid()::text, $2::int8 + n, 'run', false, 'IN_QUEUE', $3::int8, $3::int8, 0, 0, 0, 0, ${DAY_MS}, 600000,
    20000, 1800000, 604800000, false, $3::int8 + ${DAY_MS}, $2::int8 + n, 0, false, 0, 0, '{"prompt":"' || repeat('x', 187) || '"}'
  FROM generate_series(1, $4::int8) AS n`;
const COUNT =
	"INSERT INTO queue_counts (endpoint, slot, in_queue) VALUES ($1, -1, $2) ON CONFLICT (endpoint, slot) DO UPDATE SET in_queue = excluded.in_queue";

/** What happens to every waiting job: the two updates of its life. */
const START =
	"UPDATE jobs SET state = 'IN_PROGRESS', started_at = $1::int8, attempt = 1, worker = 'worker-0001', lease_until = $1::int8 + 20000, due_at = $1::int8 + 20000 WHERE state = 'IN_QUEUE'";
const FINISH = `UPDATE jobs SET state = 'COMPLETED', ended_at = $1::int8, lease_until = NULL, output = '{"ok":true}', due_at = $1::int8 + ${DAY_MS} WHERE state = 'IN_PROGRESS'`;

const database = await startDatabase();

/** Pages of the statement, from the front of the queue, for the first time and after that. */
async function explained(client: Client, now: number): Promise<{ first: number; again: number }> {
	await client.query(`PREPARE claim (text, boolean, int8, int8, int8, int8, int8) AS ${NEXT_WAITING.text}`);
	// As `store/postgres/connection.ts` has it.
	await client.query("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off");
	const pages: number[] = [];
	for (let turn = 0; turn < 2; turn += 1) {
		await client.query("BEGIN");
		const { rows } = await client.query(
			`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE claim ('${ENDPOINT}', false, 0, ${Number.MAX_SAFE_INTEGER}, 0, ${now}, 1)`,
		);
		await client.query("ROLLBACK");
		const plan = rows[0]["QUERY PLAN"][0]["Plan"] as Record<string, number>;
		if (plan["Actual Rows"] !== 1) throw new Error(`The statement found ${plan["Actual Rows"]} jobs.`);
		pages.push(plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!);
	}
	await client.query("DEALLOCATE claim; RESET plan_cache_mode");
	return { first: pages[0]!, again: pages[1]! };
}

/**
 * Pages of whole claims through a store that was just opened, their writes included: the first, and
 * the mean of those after it.
 */
async function claimed(home: { name: string; url: string }): Promise<{ first: number; mean: number }> {
	const store = await openPostgres({
		url: home.url,
		clock: systemClock,
	});
	try {
		const claim = async (): Promise<void> => {
			const { jobs } = await store.jobs.claim({
				endpoint: ENDPOINT,
				worker: "worker-0002",
				limit: 1,
				maxBytes: 20_000_000,
				now: Date.now(),
			});
			if (jobs.length !== 1) throw new Error("A claim found no job.");
		};
		const pages = async (): Promise<number> => (await database.work(home.name)).pages;
		const before = await pages();
		await claim();
		const between = await pages();
		for (let n = 0; n < CLAIMS; n += 1) await claim();
		return { first: between - before, mean: ((await pages()) - between) / CLAIMS };
	} finally {
		await store.close();
	}
}

/** One database in a state, and what claims read there. */
async function scene(name: string, make: (client: Client, add: (jobs: number) => Promise<void>) => Promise<void>) {
	const home = await database.create();
	await prepareSchema({ url: home.url });
	const client = new Client(home.url);
	await client.connect();
	try {
		const now = Date.now();
		let rank = (now - DAY_MS) * 2048;
		await client.query("INSERT INTO queues (endpoint) VALUES ($1)", [ENDPOINT]);
		await make(client, async (jobs) => {
			await client.query(FILL, [ENDPOINT, rank, now, jobs]);
			rank += jobs;
		});
		const { rows } = await client.query("SELECT count(*)::int AS waiting FROM jobs WHERE state = 'IN_QUEUE'");
		await client.query(COUNT, [ENDPOINT, rows[0].waiting]);
		const statement = await explained(client, now);
		const claims = await claimed(home);
		console.error(name, statement, claims);
		return { name, statement, claims };
	} finally {
		await client.end();
		await home.drop();
	}
}

async function finish(client: Client): Promise<void> {
	for (const each of [START, FINISH]) await client.query(each, [Date.now()]);
}

try {
	const scenes = [
		await scene(`${FEW} queued`, async (client, add) => {
			await add(FEW);
			await client.query("VACUUM ANALYZE jobs");
		}),
		await scene(`${many} queued`, async (client, add) => {
			await add(many);
			await client.query("VACUUM ANALYZE jobs");
		}),
		await scene(`${FEW} queued after ${many} finished`, async (client, add) => {
			await add(many);
			await finish(client);
			await client.query("VACUUM ANALYZE jobs");
			await add(FEW);
		}),
		await scene(`${FEW} queued after ${many} finished that vacuum has not seen`, async (client, add) => {
			await client.query("ALTER TABLE jobs SET (autovacuum_enabled = off)");
			await add(many);
			await client.query("ANALYZE jobs");
			await finish(client);
			await add(FEW);
		}),
	];
	process.stdout.write(
		`${JSON.stringify({ bench: "claim-pages", ...machine(), postgres: database.facts, scenes }, null, 2)}\n`,
	);
} finally {
	await database.stop();
}
