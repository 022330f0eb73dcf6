/**
 * The worker's settings, read from the same environment variables as RunPod's SDK (protocol
 * B.1).
 */
import { randomUUID } from "node:crypto";
import type { LogLevel } from "./types.ts";
import { urlTemplate, type UrlTemplate } from "./url-template.ts";
import { kitVersion } from "./version.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * What a connected worker needs to know. Paths are complete except for the query members that
 * change per call.
 */
export interface Settings {
	workerId: string;
	/** Origin of job-take and job-stop. */
	takeOrigin: string;
	/**
	 * Path of a take. `batch` is the number of jobs asked for; 1, or a template without `/job-take/`,
	 * gives the single path.
	 */
	takePath(batch: number, busy: boolean): string;
	/** Path of the stop channel; absent when the template has no `/job-take/` to replace. */
	stopPath: string | undefined;
	output: UrlTemplate;
	/**
	 * Path of a post of several results; absent when the template of `output` has no `/job-done/` and
	 * the job id at the end of its path.
	 */
	outputBatchPath: string | undefined;
	stream: UrlTemplate;
	/**
	 * Address of pings without `job_id` and `runpod_version`; absent when pings are impossible (no
	 * address, worker id or key).
	 */
	pingUrl: string | undefined;
	/** Time between pings, in ms, at least 1000. */
	pingIntervalMs: number;
	/** Sent as it is, without a scheme word (D26). */
	key: string | undefined;
	/** `hostname` in error records. */
	hostname: string;
	log: LogSettings;
}

/** How log lines are written (protocol B.9). */
export interface LogSettings {
	/** One JSON object per line. */
	json: boolean;
	level: LogLevel;
}

const DEFAULT_PING_INTERVAL_MS = 10_000;
const SHORTEST_PING_INTERVAL_MS = 1000;
const EATEN = "Shells and compose files expand $ID to nothing unless it is quoted (compose: $$ID).";

/**
 * Reads the settings. `undefined` when `RUNPOD_WEBHOOK_GET_JOB` is absent: run locally. Throws an
 * Error naming the variable that is wrong.
 */
export function readSettings(env: Env): Settings | undefined {
	const takeUrl = env.RUNPOD_WEBHOOK_GET_JOB;
	if (!takeUrl) return undefined;
	const workerId = env.RUNPOD_POD_ID || randomUUID();
	const template = (variable: string) => {
		const text = env[variable];
		if (!text)
			throw new Error(`${variable} must be set when RUNPOD_WEBHOOK_GET_JOB is: reports go there.`);
		if (!text.includes("$ID"))
			throw new Error(`${variable} must hold $ID where the job id goes. ${EATEN}`);
		return urlTemplate(variable, text, workerId);
	};

	const take = urlTemplate("RUNPOD_WEBHOOK_GET_JOB", takeUrl, workerId);
	const single = take.path(workerId, "");
	if (/\/job-take\/?(\?|$)/.test(single))
		throw new Error(`RUNPOD_WEBHOOK_GET_JOB must hold $ID where the worker id goes. ${EATEN}`);
	const separator = single.includes("?") ? "&" : "?";
	const hasRoute = single.includes("/job-take/");
	const batchPath = single.replace("/job-take/", "/job-take-batch/");
	const ping = env.RUNPOD_WEBHOOK_PING;
	const output = template("RUNPOD_WEBHOOK_POST_OUTPUT");
	const anyOutput = output.path("-", "");
	return {
		workerId,
		takeOrigin: take.origin,
		takePath: (batch, busy) => {
			const inProgress = `job_in_progress=${busy ? 1 : 0}`;
			return batch > 1 && hasRoute
				? `${batchPath}${separator}batch_size=${batch}&${inProgress}`
				: `${single}${separator}${inProgress}`;
		},
		stopPath: hasRoute ? single.replace("/job-take/", "/job-stop/") : undefined,
		output,
		outputBatchPath: /\/job-done\/[^/?]+\/-(?:\?|$)/.test(anyOutput)
			? anyOutput.replace("/job-done/", "/job-done-batch/").replace(/\/-(?=\?|$)/, "")
			: undefined,
		stream: template("RUNPOD_WEBHOOK_POST_STREAM"),
		pingUrl:
			ping && env.RUNPOD_POD_ID && env.RUNPOD_AI_API_KEY ? pingAddress(ping, workerId) : undefined,
		pingIntervalMs: pingInterval(env.RUNPOD_PING_INTERVAL),
		key: env.RUNPOD_AI_API_KEY || undefined,
		hostname: env.RUNPOD_POD_HOSTNAME || "unknown",
		log: readLogSettings(env),
	};
}

/**
 * `RUNPOD_ENDPOINT_ID` chooses JSON lines; `RUNPOD_LOG_LEVEL`, else `RUNPOD_DEBUG_LEVEL`, the least
 * level: a name or 0 to 5. Default INFO.
 */
export function readLogSettings(env: Env): LogSettings {
	const names: Record<string, LogLevel> = {
		NOTSET: "DEBUG",
		TRACE: "DEBUG",
		DEBUG: "DEBUG",
		INFO: "INFO",
		WARN: "WARN",
		ERROR: "ERROR",
		"0": "DEBUG",
		"1": "DEBUG",
		"2": "DEBUG",
		"3": "INFO",
		"4": "WARN",
		"5": "ERROR",
	};
	const asked = (env.RUNPOD_LOG_LEVEL || env.RUNPOD_DEBUG_LEVEL || "").toUpperCase();
	return { json: Boolean(env.RUNPOD_ENDPOINT_ID), level: names[asked] ?? "INFO" };
}

function pingAddress(text: string, workerId: string): string {
	const template = urlTemplate("RUNPOD_WEBHOOK_PING", text, workerId);
	return template.origin + template.path(workerId, "");
}

function pingInterval(text: string | undefined): number {
	const asked = Number(text);
	if (!text || !Number.isFinite(asked)) return DEFAULT_PING_INTERVAL_MS;
	return Math.max(SHORTEST_PING_INTERVAL_MS, asked);
}

/** Headers of every call except pings, in undici's flat form. */
export function requestHeaders(key: string | undefined): string[] {
	const headers = ["user-agent", userAgent, "content-type", "application/json"];
	return key === undefined ? headers : [...headers, "authorization", key];
}

/** `Sluice-Worker/<version>`. */
export const userAgent: string = kitVersion.replace("sluice/", "Sluice-Worker/");
