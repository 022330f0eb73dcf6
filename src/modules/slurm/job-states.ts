/** Reads rows of `squeue` and records of `scontrol` and `sacct`. */
import { constants } from "node:os";
import type { ExitReason, WorkerReason } from "../../kernel/core/workers/worker-reason.ts";
import type { Exit, PlatformState } from "../../kernel/launchers/launcher.ts";
import { ADAPTER_FAILS, AGAIN, NO_ADAPTER, STARTED_AGAIN } from "./script.ts";
import { endReason, OVER_MEMORY, PENDING, SIGNAL_NOTES } from "./slurm-texts.ts";

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
	const [, code = "queued", sentence] = PENDING.find(([pattern]) => pattern.test(reason)) ?? [];
	return { code, message: `Slurm job ${id} is pending: ${reason}${sentence ? ` (${sentence})` : ""}.` };
}

/** `drainBeforeS`: time before its limit at which a job counts as ending, at most half of the limit. */
export function noticeOf(row: JobRow, drainBeforeS: number): PlatformState {
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

/** `hasLostStart`: the end is that of a second start, which the node may have refused. */
export function exitOf(
	{ state, exitCode = "", reason = "", node }: JobEnd,
	job: string,
	{ hasLostStart = false } = {},
): Pick<Exit, "code" | "signal" | "reason"> {
	const [code = 0, signal = 0] = exitCode.split(":").map(Number);
	if (state === "COMPLETED") return { code: 0 };
	if (state === "FAILED" && hasLostStart) return { reason: startedTwice(nameOf(job, node)) };
	if (state === "FAILED" && signal > 0) return { signal: signalName(signal) };
	if (state === "FAILED" && code > 0) return { code };
	return { reason: endReason(nameOf(job, node), state, state === "FAILED" ? reason : "") };
}

/** Undefined if the output says nothing beyond the exit code. */
export function faultIn(
	output: string,
	q: {
		job: string;
		end: JobEnd;
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
	if (end.exitCode === `${STARTED_AGAIN}:0` && output.includes(AGAIN)) return startedTwice(job);
	if (end.exitCode === `${NO_ADAPTER}:0` && output.includes(ADAPTER_FAILS))
		return {
			code: "config",
			crash: true,
			message:
				`${job} could not run the adapter, the program that sends jobs to the server: set launcher.adapterCommand ` +
				"to one that the node can run.",
		};
	if (OVER_MEMORY.test(output)) return endReason(job, "OUT_OF_MEMORY");
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

function startedTwice(job: string): ExitReason {
	const message = `${job} was started twice: the controller lost the record of its first start.`;
	return { code: "deleted", crash: false, message };
}

/** Removes Slurm's own notes about signals from the output. */
export function withoutNotes(output: string): string {
	return output.replaceAll(SIGNAL_NOTES, "").trimEnd();
}

function nameOf(job: string, node: string | undefined): string {
	return `Slurm job ${job}${node === undefined ? "" : ` on node ${node}`}`;
}

function signalName(number: number): string {
	const found = Object.entries(constants.signals).find(([, value]) => value === number);
	return found?.[0] ?? `signal ${number}`;
}
