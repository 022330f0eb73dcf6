/** Standbys by streaming replication, for `sluice doctor`, `/metrics` and alerts. */

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
