import type { Clock } from "../../kernel/system/clock.ts";
import type { RunCommand, SlurmFailure } from "./commands.ts";
import {
	ACCOUNTING_FORMAT,
	endInAccounting,
	endInRecord,
	isActive,
	type JobEnd,
	type JobRow,
	ROW_FORMAT,
	rowsOf,
} from "./job-states.ts";

const SIGNAL_MS = 10_000;

export type SlurmQueue = ReturnType<typeof slurmQueue>;

export function slurmQueue({ clock, run }: { clock: Clock; run: RunCommand }) {
	let last: { rows: Map<string, JobRow>; at: number } | undefined;

	/** Jobs of this user, including ended ones for some minutes. */
	async function rows(): Promise<Map<string, JobRow>> {
		const format = `--format=${ROW_FORMAT}`;
		const output = await run("squeue", ["--me", "--noheader", "--states=all", format]);
		last = { rows: rowsOf(output), at: clock.now() };
		return last.rows;
	}

	/** No error if the job has ended or is ending. */
	async function cancel(...args: string[]): Promise<void> {
		try {
			await run("scancel", args, { timeoutMs: SIGNAL_MS });
		} catch (error) {
			const { fault } = error as SlurmFailure;
			if (fault !== "job_ended" && fault !== "job_unknown") throw error;
		}
	}

	return {
		rows,
		recentRows: async (ms: number) => (last !== undefined && clock.now() - last.at < ms ? last.rows : await rows()),
		async submit(options: readonly string[], script: string): Promise<string> {
			const output = await run("sbatch", options, { input: script });
			// `id` or `id;cluster`, after output of the site's plugins.
			const id = /^(\d+)(;\S*)?$/m.exec(output)?.[1];
			if (id === undefined) throw new Error(`sbatch answered ${JSON.stringify(output.trim())}`);
			return id;
		},
		/**
		 * SIGTERM to the batch script or to a step. A pending job is cancelled unless its worker has `started`, because
		 * a controller that lost its last seconds shows a running job as pending.
		 */
		async terminate(job: string, { step, started }: { step: number | undefined; started: boolean }): Promise<void> {
			if (!started) await cancel("--state=PENDING", job);
			await cancel(...(step === undefined ? signalled("TERM", job) : ["--signal=TERM", `${job}.${step}`]));
		},
		/**
		 * SIGKILL to the batch script and its first step, after which Slurm kills their children. `scancel` without
		 * `--batch` would wait for KillWait, and the node takes no job meanwhile.
		 */
		async kill(job: string, { started }: { started: boolean }): Promise<void> {
			if (!started) await cancel("--state=PENDING", job);
			await cancel("--signal=KILL", `${job}.0`);
			await cancel(...signalled("KILL", job));
		},
		/** SIGTERM to the whole job, and SIGKILL after the cluster's KillWait, 30 s. */
		cancel: (job: string) => cancel(job),
		/** Undefined if Slurm does not know the job any more. */
		async endOf(job: string, name: string): Promise<JobEnd | undefined> {
			const record = await run("scontrol", ["show", "job", "--oneliner", job]).catch((error: SlurmFailure) => {
				if (error.fault === "job_unknown") return "";
				throw error;
			});
			const end = record.includes(` JobName=${name} `) ? endInRecord(record) : undefined;
			if (end && !isActive(end.state)) return end;
			// Fails without accounting.
			const format = `--format=${ACCOUNTING_FORMAT}`;
			const form = ["--allocations", "--duplicates", "--noheader", "--parsable2", format];
			return await run("sacct", [...form, `--jobs=${job}`]).then(
				(output) => endInAccounting(output, name),
				() => undefined,
			);
		},
	};
}

/** SIGKILL would cancel a pending job. */
function signalled(signal: string, job: string): string[] {
	return ["--state=RUNNING", "--batch", `--signal=${signal}`, job];
}
