/** Explains Slurm's messages for a worker, one row each. A message without a row is passed on unchanged. */
import type { ExitReason } from "../../kernel/core/workers/worker-reason.ts";

type Pending = readonly [RegExp, "queued" | "unschedulable", sentence?: string];

/**
 * Reasons of pending jobs (`squeue --format=%r`). With `unschedulable` only a change of settings or an operator helps.
 * The first match counts; others are `queued`.
 */
export const PENDING: readonly Pending[] = [
	[/^Resources/, "queued", "no node has the requested resources free"],
	[/^Priority/, "queued", "jobs of higher priority are before it"],
	[/^ReqNodeNotAvail/, "unschedulable", "nodes that it needs are down, drained or reserved"],
	[/^BadConstraints/, "unschedulable", "no node fits its constraint, GPUs, cores and memory"],
	[/^Partition(Config|NodeLimit)/, "unschedulable", "the partition does not offer what it requests"],
	[/^PartitionTimeLimit/, "unschedulable", "its time limit is longer than the partition allows"],
	[/^(Bad|Invalid|Partition|DependencyNever)|NotAllowed|PerJob|launch|held/i, "unschedulable"],
];

/**
 * Whether a pending job waits for resources that others use: the first of a queue has the reason Resources, the rest
 * Priority.
 */
export function waitsForOthers(message: string): boolean {
	return /pending: (Resources|Priority)/.test(message);
}

type End = readonly [state: string, code: ExitReason["code"], crash: boolean, sentence: string];

/** States of ended jobs. The exit code explains COMPLETED, and FAILED unless the job could not be launched. */
const ENDS: readonly End[] = [
	["FAILED", "start_failed", true, "could not be started"],
	["OUT_OF_MEMORY", "out_of_memory", true, "used more than its memory: raise launcher.memory"],
	["TIMEOUT", "time_limit", false, "reached its time limit"],
	["DEADLINE", "time_limit", false, "reached its time limit"],
	["PREEMPTED", "preempted", false, "was preempted by another job"],
	["NODE_FAIL", "node_failed", false, "ended because its node failed"],
	["BOOT_FAIL", "node_failed", false, "ended because its node failed"],
	["CANCELLED", "deleted", false, "was cancelled, not by this service"],
	["REVOKED", "deleted", false, "was cancelled, not by this service"],
	["UNKNOWN", "deleted", false, "is not known to Slurm any more"],
];

/** `said`: Slurm's words, where they say more than the sentence. */
export function endReason(job: string, state: string, said = ""): ExitReason {
	const row = ENDS.find(([each]) => each === state);
	if (!row) return { code: "deleted", crash: false, message: `${job} has ended: ${state}.` };
	const [, code, crash, sentence] = row;
	return { code, crash, message: `${job} ${sentence}${said && ` (${said})`}.` };
}

/**
 * The meaning of a failed command: the request was not sent, its answer was lost, its job has ended, or Slurm does not
 * know its job. Undefined: Slurm refused it.
 */
export type CommandFault = "not_sent" | "answer_lost" | "job_ended" | "job_unknown";

const COMMAND_FAULTS: readonly (readonly [RegExp, CommandFault])[] = [
	[/connect failure|connection refused/i, "not_sent"],
	[/timed out|zero bytes|communication|unexpected message/i, "answer_lost"],
	[/already completing|already completed/i, "job_ended"],
	[/invalid job id/i, "job_unknown"],
];

export function commandFault(text: string): CommandFault | undefined {
	return COMMAND_FAULTS.find(([pattern]) => pattern.test(text))?.[1];
}

/** Output of slurmstepd where no cgroup limits memory (OverMemoryKill): the state does not show that limit. */
export const OVER_MEMORY = /^slurmstepd.*exceeded job memory limit/im;

/** Notes of slurmstepd about signals, which are no output of the worker. */
export const SIGNAL_NOTES = /^slurmstepd\S*: error: (\*{3}|_\w+:) .*(\n|$)/gm;
