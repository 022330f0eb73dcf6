/** Reads rows of `squeue` and records of `scontrol` and `sacct`. */
import { constants } from "node:os";
import type { ExitReason, WorkerReason } from "../../core/workers/worker-reason.ts";
import type { Exit, WorkerState } from "../launcher.ts";
import { AGAIN, STARTED_AGAIN } from "./script.ts";

export interface JobRow {
	id: string;
	state: string;
	reason: string;
	/** Time left and limit, s. Undefined without a limit. */
	leftS: number | undefined;
	limitS: number | undefined;
	name: string;
}

export interface JobEnd {
	state: string;
	/** Exit code and signal of the batch script, as `7:0`. */
	exitCode?: string | undefined;
	reason?: string | undefined;
	node?: string | undefined;
}

/** The name is last because it may contain anything. */
export const ROW_FORMAT = "%i|%T|%r|%L|%l|%j";

/** The job has not ended and processes may run. */
const ACTIVE = new Set(
	(
		"PENDING CONFIGURING RUNNING COMPLETING SUSPENDED STOPPED RESIZING SIGNALING STAGE_OUT " +
		"REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD"
	).split(" "),
);

const WAITING = new Set("PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD".split(" "));

/** Only a change of settings or an operator resolves these. */
const UNSCHEDULABLE = /^(Bad|Invalid|Partition|JobHeld|ReqNodeNotAvail|DependencyNever)|NotAllowed|PerJob|launch|held/i;

const EXPLAINED: Readonly<Record<string, string>> = {
	None: "Slurm has not considered it yet",
	Resources: "no node has the requested resources free",
	Priority: "jobs of higher priority are before it",
	ReqNodeNotAvail: "nodes that it needs are down, drained or reserved",
	BadConstraints: "no node fits its constraint, GPUs, cores and memory",
	PartitionConfig: "the partition does not offer what it requests",
	PartitionNodeLimit: "the partition does not offer what it requests",
	PartitionTimeLimit: "its time limit is longer than the partition allows",
	PartitionDown: "the partition is down",
	PartitionInactive: "the partition is inactive",
	JobHeldAdmin: "an administrator holds it",
	JobHeldUser: "it is held: scontrol release",
	Licenses: "licenses are in use",
	Reservation: "its reservation has not begun",
	BeginTime: "its start is deferred",
	AccountNotAllowed: "the partition does not admit the account",
};

export function isActive(state: string): boolean {
	return ACTIVE.has(state);
}

export function isWaiting(state: string): boolean {
	return WAITING.has(state);
}

export function rowsOf(output: string): Map<string, JobRow> {
	const rows = new Map<string, JobRow>();
	for (const line of output.split("\n")) {
		const [id = "", state = "", reason = "", left = "", limit = "", ...name] = line.split("|");
		if (!/^\d/.test(id) || name.length === 0) continue;
		rows.set(id, {
			id,
			state,
			reason,
			leftS: seconds(left),
			limitS: seconds(limit),
			name: name.join("|"),
		});
	}
	return rows;
}

/** `D-HH:MM:SS`, `HH:MM:SS` or `MM:SS`. Undefined for UNLIMITED, NOT_SET, INVALID and the like. */
export function seconds(duration: string): number | undefined {
	const match = /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$/.exec(duration);
	if (!match) return undefined;
	const [days = 0, hours = 0, minutes = 0, rest = 0] = match.slice(1).map((each) => Number(each ?? 0));
	return ((days * 24 + hours) * 60 + minutes) * 60 + rest;
}

export function waitingReason({ id, state, reason }: JobRow): WorkerReason {
	if (state === "CONFIGURING") return { code: "starting", message: `Slurm prepares the node of job ${id}.` };
	const [word = ""] = reason.split(/[,: ]/, 1);
	const explained = EXPLAINED[word];
	return {
		code: UNSCHEDULABLE.test(reason) ? "unschedulable" : "queued",
		message: `Slurm job ${id} is pending: ${reason}${explained ? ` (${explained})` : ""}.`,
	};
}

/** `drainBeforeS`: time before its limit at which a job counts as ending, at most half of the limit. */
export function noticeOf(row: JobRow, drainBeforeS: number): WorkerState {
	const { id, leftS, limitS = Infinity } = row;
	if (isWaiting(row.state)) return { state: "waiting", ...waitingReason(row) };
	if (leftS === undefined || leftS > Math.min(drainBeforeS, limitS / 2)) return { state: "running" };
	const message = `Slurm ends its job ${id} soon: the time limit is ${limitS} s.`;
	return { state: "ending", code: "time_limit", message };
}

export function endInRecord(record: string): JobEnd | undefined {
	const member = (name: string): string | undefined => new RegExp(`(?:^| )${name}=(\\S+)`).exec(record)?.[1];
	const state = member("JobState");
	return state === undefined
		? undefined
		: { state, exitCode: member("ExitCode"), reason: member("Reason"), node: member("BatchHost") };
}

/** The name is last because it may contain anything. */
export const ACCOUNTING_FORMAT = "State,ExitCode,NodeList,JobName";

/** Takes lines of `sacct --parsable2`. The name must match because ids are reused. */
export function endInAccounting(output: string, name: string): JobEnd | undefined {
	for (const line of output.split("\n")) {
		const [state = "", exitCode, node, ...found] = line.trim().split("|");
		if (state !== "" && found.join("|") === name) return { state: state.split(" ", 1)[0]!, exitCode, node };
	}
	return undefined;
}

export function exitOf(
	{ state, exitCode = "", reason = "", node }: JobEnd,
	q: { job: string; memory: string | undefined },
): Pick<Exit, "code" | "signal" | "reason"> {
	const job = nameOf(q.job, node);
	const [code = 0, signal = 0] = exitCode.split(":").map(Number);
	const how = signal > 0 ? { signal: signalName(signal) } : { code };
	const because = (code_: ExitReason["code"], crash: boolean, what: string): { reason: ExitReason } => ({
		reason: { code: code_, crash, message: `${job} ${what}` },
	});
	switch (state) {
		case "COMPLETED":
			return { code: 0 };
		case "FAILED":
			// Slurm reports a failed launch, such as an unreadable output file, without code and signal.
			if (code === 0 && signal === 0) return because("start_failed", true, `could not be started: ${reason}.`);
			return how;
		case "OUT_OF_MEMORY":
			return { reason: outOfMemory(job, q.memory) };
		case "TIMEOUT":
		case "DEADLINE":
			return because("time_limit", false, "reached its time limit.");
		case "PREEMPTED":
			return because("preempted", false, "was preempted by another job.");
		case "NODE_FAIL":
		case "BOOT_FAIL":
			return because("node_failed", false, `ended because its node failed (${state}).`);
		case "CANCELLED":
		case "REVOKED":
			return because("deleted", false, "was cancelled, not by this service.");
		default:
			return because("deleted", false, `is not known to Slurm any more (${state}).`);
	}
}

/** Undefined if the output says nothing beyond the exit code. */
export function faultIn(
	output: string,
	q: {
		job: string;
		end: JobEnd;
		memory: string | undefined;
		program: string | undefined;
		/** Set if the worker's variables in this folder were not read. */
		unreadIn: string | undefined;
	},
): ExitReason | undefined {
	const { end, unreadIn } = q;
	const job = nameOf(q.job, end.node);
	if (end.state !== "FAILED") return undefined;
	if (unreadIn !== undefined)
		return {
			code: "volume",
			crash: true,
			message:
				`${job} ended before it read its variables in ${unreadIn}: launcher.sharedDir must be the same ` +
				"folder on the nodes.",
		};
	if (end.exitCode === `${STARTED_AGAIN}:0` && output.includes(AGAIN))
		return { code: "deleted", crash: false, message: `${job} was started twice: its controller lost its first start.` };
	// Without cgroups (OverMemoryKill) the state does not show it.
	if (/^slurmstepd.*exceeded job memory limit/im.test(output)) return outOfMemory(job, q.memory);
	// A shell's codes for a program that it cannot execute or find.
	const [, code] = /^(126|127):/.exec(end.exitCode ?? "") ?? [];
	if (code === undefined) return undefined;
	// Its output is only for admin keys, and this sentence is for all keys.
	const why = code === "126" ? "it may not be executed there" : "it, or a program that it calls, was not found there";
	return {
		code: "config",
		crash: true,
		message: `${job} could not run ${q.program ?? "the command"}: ${why} (exit code ${code}).`,
	};
}

/** Removes Slurm's own notes about signals from the output. */
export function withoutNotes(output: string): string {
	return output.replaceAll(/^slurmstepd\S*: error: (\*{3}|_\w+:) .*(\n|$)/gm, "").trimEnd();
}

function outOfMemory(job: string, memory: string | undefined): ExitReason {
	const limit = memory === undefined ? "its memory" : `its memory, ${memory}`;
	return {
		code: "out_of_memory",
		crash: true,
		message: `${job} used more than ${limit}: raise launcher.memory.`,
	};
}

function nameOf(job: string, node: string | undefined): string {
	return `Slurm job ${job}${node === undefined ? "" : ` on node ${node}`}`;
}

function signalName(number: number): string {
	const found = Object.entries(constants.signals).find(([, value]) => value === number);
	return found?.[0] ?? `signal ${number}`;
}
