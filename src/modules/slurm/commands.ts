import type { Env } from "../../kernel/lib/env.ts";
import { runProgram } from "../../kernel/system/run-program.ts";
import { type CommandFault, commandFault } from "./slurm-texts.ts";

/** Timeout of a command, ms, longer than Slurm's own timeouts (MessageTimeout, 10 s). */
const COMMAND_MS = 30_000;

/** Maximum output of a command, bytes: enough for rows of 100,000 jobs. */
const OUTPUT_BYTES = 32 * 1024 * 1024;

/** Variables that workers inherit through `sbatch`; none is secret. */
const INHERITED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_.*|TZ)$/;

/**
 * Variables that configure the commands. SLURM_JOB_ID and similar ones are left out, in case the service runs in a job.
 */
const CONFIGURATION = /^(SLURM_CONF|SLURM_CONF_SERVER|SLURM_JWT|SBATCH_.*|MUNGE_.*)$/;

const FORMAT = { SLURM_TIME_FORMAT: "standard", LC_ALL: "C" };

export class SlurmFailure extends Error {
	readonly fault: CommandFault | undefined;

	constructor(message: string, fault?: CommandFault) {
		super(message);
		this.fault = fault;
	}

	get isUnanswered(): boolean {
		return this.fault === "not_sent" || this.fault === "answer_lost";
	}
}

/** stdout of a command; rejects with {@link SlurmFailure}. */
export type RunCommand = (
	program: string,
	args: readonly string[],
	q?: { input?: string; timeoutMs?: number },
) => Promise<string>;

export function slurmCommands(env: Env): RunCommand {
	const kept = Object.entries(env).filter(
		([name, value]) => value !== undefined && (INHERITED.test(name) || CONFIGURATION.test(name)),
	) as [string, string][];
	const inherited = Object.fromEntries(kept);
	return async (program, args, { input = "", timeoutMs = COMMAND_MS } = {}) => {
		// Workers of `sbatch` inherit its locale.
		const env = { ...inherited, ...(program !== "sbatch" && FORMAT) };
		const { how, code, stdout, stderr } = await runProgram(program, args, {
			...{ env, timeoutMs, input, mostBytes: OUTPUT_BYTES },
		}).catch((error: Error) => {
			throw notStarted(program, error);
		});
		if (how === "exited" && code === 0) return stdout;
		if (how === "long")
			throw new SlurmFailure(`${program} printed more than ${OUTPUT_BYTES / 1024 ** 2} MiB`, "answer_lost");
		if (how === "late" || code === null)
			throw new SlurmFailure(`${program} did not answer for ${timeoutMs / 1000} s: ${linesOf(stderr)}`, "answer_lost");
		throw failureOf(program, stderr);
	};
}

function notStarted(program: string, error: Error): SlurmFailure {
	const { code } = error as NodeJS.ErrnoException;
	return new SlurmFailure(
		code === "ENOENT"
			? `the command ${program} was not found: install Slurm's client commands on the service's machine, ` +
					"or add their folder to its PATH"
			: `${program} could not be run: ${error.message}`,
	);
}

function failureOf(program: string, stderr: string): SlurmFailure {
	const text = linesOf(stderr);
	const failure = new SlurmFailure(`${program}: ${text}`, commandFault(text));
	return failure.isUnanswered
		? new SlurmFailure(`Slurm's controller does not answer: ${text}`, failure.fault)
		: failure;
}

function linesOf(stderr: string): string {
	const lines = stderr
		.split("\n")
		.map((line) => line.replace(/^\w+: (error|fatal): /, "").trim())
		.filter((line) => line !== "");
	return [...new Set(lines)].join("; ") || "it printed nothing";
}
