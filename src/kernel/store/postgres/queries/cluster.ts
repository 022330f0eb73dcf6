/** Standbys by streaming replication, for `sluice doctor`, `/metrics` and alerts. */
import { RUNNING } from "../../row.ts";
import type { ClusterStore, ServerRow } from "../../contract/cluster.ts";
import type { Running } from "../../contract/jobs.ts";
import type { Signal } from "../../contract/store.ts";
import { LAST_SEEN, lastSeenFrom } from "../../tables/cluster.ts";
import { numbers, texts } from "../connection/arrays.ts";
import { type Runner, statement } from "../connection/statement.ts";
import { KEYS } from "../rows/row.ts";

export interface Standbys {
	/** Value of `synchronous_standby_names`; empty: no standby is synchronous. */
	synchronousNames: string;
	connected: number;
	/** Number of connected standbys that are synchronous; null where the role may not see it. */
	synchronous: number | null;
}

/** Details are visible to superusers and members of `pg_read_all_stats`; others see processes. */
export const STANDBYS = `
  SELECT current_setting('synchronous_standby_names') AS "synchronousNames",
    count(pid)::int AS connected,
    CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
      THEN (count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')))::int END AS synchronous
  FROM pg_stat_replication
  WHERE state IS DISTINCT FROM 'backup' AND pid NOT IN
    (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active)`;

// Starts at a time: a new row never repeats an earlier number.
const BEAT = statement(`
  INSERT INTO servers (id, run, url, started_at, alive_until, note, note_number)
  VALUES ($1, $2, $3, $4, $5, $6, $5)
  ON CONFLICT (id) DO UPDATE SET run = excluded.run, url = excluded.url,
    started_at = excluded.started_at, alive_until = excluded.alive_until,
    note = coalesce(excluded.note, servers.note),
    note_number = servers.note_number + CASE WHEN excluded.note IS NULL THEN 0 ELSE 1 END
  WHERE servers.run = excluded.run OR $7
  RETURNING xmax = 0`);
// A server that beats now holds the row's lock; its row is re-read after that.
const REMOVE_EXPIRED = statement("DELETE FROM servers WHERE alive_until <= $1 AND id <> $2");
const ALIVE = statement(`
  SELECT servers.id, url, started_at, alive_until, note_number,
    CASE WHEN known.number = note_number THEN NULL ELSE note END
  FROM servers LEFT JOIN unnest($2::text[], $3::int8[]) AS known (id, number) ON known.id = servers.id
  WHERE alive_until > $1 ORDER BY started_at, servers.id`);
const LEASES = statement("SELECT name, server FROM leases ORDER BY name");
const LEAVE = statement("DELETE FROM servers WHERE id = $1 AND run = $2");
// In name order: servers that take the same leases cannot deadlock.
const LEAD = statement(`
  WITH me AS (SELECT id FROM servers WHERE id = $1 AND run = $2 FOR KEY SHARE)
  INSERT INTO leases (name, server)
  SELECT name, id FROM (
    SELECT wanted.name, me.id FROM me, unnest($3::text[]) WITH ORDINALITY AS wanted (name, place)
    WHERE NOT EXISTS (SELECT 1 FROM leases WHERE leases.name = wanted.name)
    ORDER BY wanted.place LIMIT $4
  ) AS chosen ORDER BY name
  ON CONFLICT (name) DO NOTHING RETURNING name`);
const YIELD = statement("DELETE FROM leases WHERE server = $1 AND name = ANY ($2::text[])");
const CLOCK = statement(`
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8,
    (SELECT value FROM meta WHERE name = '${LAST_SEEN}')`);
const READ_STANDBYS = statement(STANDBYS);
const OVER = statement(`
  SELECT asked.endpoint, asked.id FROM (${KEYS.select}) AS asked
  LEFT JOIN jobs ON jobs.endpoint = asked.endpoint AND jobs.id = asked.id
  WHERE jobs.id IS NULL OR jobs.ended_at IS NOT NULL`);
const AT_WORK = statement(
	`SELECT id, worker, attempt, started_at FROM jobs WHERE endpoint = $1 AND state = '${RUNNING}'`,
);
// A changed row has a later `xmin`: any change alters the count or the sum.
const version = (table: string, each = "xmin::text::int8"): string =>
	`(SELECT count(*) || '.' || coalesce(sum(${each}), 0) FROM ${table})`;
// Uses change rows of keys and sessions too. Keys change only with their hash, sessions only end.
const VERSIONS = statement(
	`SELECT ${version("endpoints")}, ${version("keys", "hashtextextended(hash, 0)")} || ' ' ||
		${version("tokens")} || ' ' || ${version("sessions", "number")}`,
);

/** `run` has no slow statements. */
export function openCluster({ run }: Runner, read: Runner, notifyOthers: (signal: Signal) => void): ClusterStore {
	async function alive(now: number, known: ReadonlyMap<string, number>): Promise<ServerRow[]> {
		const { rows } = await run(ALIVE, [now, texts([...known.keys()]), numbers([...known.values()])]);
		return rows.map(([id, url, startedAt, aliveUntil, noteNumber, note]) => ({
			id: String(id),
			url: String(url),
			startedAt: Number(startedAt),
			aliveUntil: Number(aliveUntil),
			noteNumber: Number(noteNumber),
			...(note !== null && { note: String(note) }),
		}));
	}

	return {
		servers: ({ now }) => alive(now, new Map()),

		async beat({ server, run: start, url, startedAt, first, bury, aliveMs, note, known, now }) {
			const sent = run(BEAT, [server, start, url, startedAt, now + aliveMs, note ?? null, first]);
			const buried = bury ? run(REMOVE_EXPIRED, [now, server]) : undefined;
			// Sent together, run in this order.
			const [beat, servers, leases] = await Promise.all([sent, alive(now, known), run(LEASES), buried]);
			const made = beat.rows[0]?.[0];
			if (made === undefined) return undefined;
			if (made === true || first) notifyOthers({ kind: "servers" });
			return {
				servers,
				leases: leases.rows.map(([name, leader]) => ({
					name: String(name),
					server: String(leader),
				})),
			};
		},

		async leave({ server, run: start }) {
			const { count } = await run(LEAVE, [server, start]);
			if (count > 0) notifyOthers({ kind: "servers" });
		},

		async lead({ names, atMost, server, run: start }) {
			const { rows } = await run(LEAD, [server, start, texts(names), atMost]);
			const taken = new Set(rows.map(([name]) => String(name)));
			return names.filter((name) => taken.has(name));
		},

		async yield({ names, server }) {
			const { count } = await run(YIELD, [server, texts(names)]);
			if (count > 0) notifyOthers({ kind: "servers" });
		},

		async clock() {
			const [wall, seen] = (await run(CLOCK)).rows[0] ?? [];
			return { wall: Number(wall), seen: lastSeenFrom(seen) };
		},

		async standbys() {
			const [names, connected] = (await read.run(READ_STANDBYS)).rows[0] ?? [];
			return { connected: Number(connected), isSynchronous: names !== "" };
		},

		async over({ jobs }) {
			const { rows } = await read.run(OVER, KEYS.values(jobs));
			return rows.map(([endpoint, id]) => ({ endpoint: String(endpoint), id: String(id) }));
		},

		async running({ endpoint }) {
			const { rows } = await read.run(AT_WORK, [endpoint]);
			return rows.map(
				([id, worker, attempt, startedAt]): Running => ({
					endpoint,
					id: String(id),
					worker: String(worker),
					attempt: Number(attempt),
					startedAt: Number(startedAt),
				}),
			);
		},

		async versions() {
			const [endpoints, access] = (await read.run(VERSIONS)).rows[0] ?? [];
			return { endpoints: String(endpoints), access: String(access) };
		},
	};
}
