/**
 * The limit of jobs on PostgreSQL: a relay that keeps each body in a row before it passes it on, and
 * has no states (`job-relay.ts`), with the same worker and clients as Sluice.
 */
import { end, startJobRelay } from "../processes.ts";
import { shoot } from "../wrk.ts";
import { type Contender, INPUT } from "./contender.ts";

export async function startRelay(database: string): Promise<Contender> {
	const { url, children } = await startJobRelay("noop-worker.ts", database);
	const shot = {
		url,
		body: JSON.stringify({ input: INPUT }),
		headers: { "Content-Type": "application/json" },
	};
	return {
		version: "",
		async run({ seconds, inFlight }) {
			const load = await shoot(shot, { connections: inFlight, seconds });
			if (load.refused > 0) throw new Error(`${load.refused} jobs of the relay were not answered.`);
			return { ...load, jobs: load.perSecond * seconds };
		},
		async stop() {
			// Its worker would wait for its reports.
			for (const child of children) await end(child, "SIGKILL");
		},
	};
}
