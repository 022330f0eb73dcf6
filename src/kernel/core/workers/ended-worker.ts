/** Launched workers that have ended, and how (D47). */
import { afterReturns, printableLines } from "../../lib/terminal-text.ts";
import { asSentence } from "../../lib/text.ts";
import { sdkLine } from "./log-line.ts";
import type { ExitReason, WorkerReasonCode } from "./worker-reason.ts";

/** Kept for each endpoint. */
export const ENDED_WORKERS = { count: 50, ms: 7 * 24 * 3_600_000 } as const;

/** A worker that exits sooner after its start has crashed (D28). */
export const CRASH_MS = 10_000;

const LAST_LINES = 20;
const LAST_CHARACTERS = 2000;

/** Characters. */
const ERROR_LINE = 300;

/** What programs write of an error, such as "TypeError: x", "Error [ERR_X]: x" or "CUDA out of memory". */
const ERROR = /(?:error|exception|fatal|panic)(?: \[\w+\])?: |out of memory|cannot find (?:package|module)/i;

/** Times are ms since the epoch. */
export interface EndedWorker {
	id: string;
	endpoint: string;
	launcher: string;
	host?: string | undefined;
	createdAt: number;
	readyAt?: number | undefined;
	room?: RoomTime | undefined;
	endedAt: number;
	exitCode?: number | undefined;
	signal?: string | undefined;
	/** Absent if it was stopped or exited on its own. */
	code?: WorkerReasonCode | undefined;
	message: string;
	/** Has no escape sequences and no values of variables. */
	lastOutput: string;
}

/** Time from the decision to make room for a worker to its start, ms since the epoch. */
export interface RoomTime {
	since: number;
	until: number;
}

export interface WorkerExit {
	code?: number | undefined;
	signal?: string | undefined;
	reason?: ExitReason | undefined;
}

/** `text` has no full stop; `code`: the kind of fault. */
export interface KnownEnding {
	text: string;
	code?: WorkerReasonCode | undefined;
}

interface WorkerLife {
	createdAt: number;
	readyAt?: number | undefined;
	endedAt: number;
	ending?: KnownEnding | undefined;
	/** It had a warm-up to run. */
	warmup?: { sent: boolean } | undefined;
}

const SIGNALS: Readonly<Record<string, number>> = {
	SIGHUP: 1,
	SIGINT: 2,
	SIGQUIT: 3,
	SIGILL: 4,
	SIGTRAP: 5,
	SIGABRT: 6,
	SIGBUS: 7,
	SIGFPE: 8,
	SIGKILL: 9,
	SIGSEGV: 11,
	SIGPIPE: 13,
	SIGTERM: 15,
	SIGXCPU: 24,
	SIGXFSZ: 25,
	SIGSYS: 31,
};

const PHRASES: Partial<Record<WorkerReasonCode, string>> = {
	out_of_memory: "out of memory",
	node_failed: "its host failed",
	time_limit: "over its time limit",
};

/** Such as "exit code 7"; undefined if nothing is known. */
export function exitPhrase({ code, signal, reason }: WorkerExit): string | undefined {
	if (reason && reason.code !== "crashed") return PHRASES[reason.code] ?? reason.code;
	if (signal !== undefined) {
		const number = SIGNALS[signal];
		return `killed by ${number === undefined ? signal : `signal ${number}, ${signal}`}`;
	}
	return code === undefined ? undefined : `exit code ${code}`;
}

/** A clause without full stop, such as "it ended with exit code 7 before it asked for a job". */
export function exitText(exit: WorkerExit, life: Omit<WorkerLife, "ending">): string {
	if (exit.reason) return exit.reason.message;
	const phrase = exitPhrase(exit);
	const how = phrase === undefined ? "ended" : phrase.replace(/^exit code/, "ended with exit code");
	const soon = life.endedAt - life.createdAt < CRASH_MS ? " soon after its start" : "";
	const hint = exit.code === 0 ? ", as a program does that never calls runpod.serverless.start" : "";
	const early = life.warmup?.sent ? " during its warm-up" : ` before it asked for a job${hint}`;
	const when = life.readyAt === undefined ? early : soon;
	return `it ${how.replace(/^killed/, "was killed")}${when}`;
}

export function endOf(
	exit: WorkerExit,
	life: WorkerLife,
): Pick<EndedWorker, "exitCode" | "signal" | "code" | "message"> {
	const { ending, readyAt } = life;
	const isCrash = !ending && !(exit.code === 0 && readyAt !== undefined);
	const code = ending?.code ?? exit.reason?.code ?? (isCrash ? "crashed" : undefined);
	const text = ending?.text ?? exitText(exit, life);
	return {
		exitCode: exit.code,
		signal: exit.signal,
		code,
		message: asSentence(text),
	};
}

/** The last whole lines, at most 2,000 characters, or the end of a longer line. */
export function lastCharacters(output: string): string {
	if (output.length <= LAST_CHARACTERS) return output;
	const end = output.slice(-LAST_CHARACTERS);
	return end.slice(end.indexOf("\n") + 1).toWellFormed();
}

/** Text without terminal control. */
export function lastLines(output: string): string {
	const lines = output.trimEnd().split("\n").slice(-LAST_LINES);
	return printableLines(lines.map((line) => sdkLine(afterReturns(line)).text).join("\n"));
}

/** The last line that names an error, since a stack trace may follow it, else the last one that is not empty. */
export function errorLine(lastOutput: string): string | undefined {
	const lines = lastOutput
		.split("\n")
		.map((line) => line.trim().slice(0, ERROR_LINE).toWellFormed())
		.filter((line) => line !== "");
	return lines.findLast((line) => ERROR.test(line)) ?? lines.at(-1);
}
