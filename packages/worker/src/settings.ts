/** Settings from the environment variables of RunPod's SDK (protocol B.1). */
import { randomUUID } from "node:crypto";
import type { LogLevel } from "./types.ts";
import { urlTemplate, type UrlTemplate } from "./url-template.ts";
import { kitVersion } from "./version.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Paths lack only the query parameters that change per call. */
export interface Settings {
	workerId: string;
	takeOrigin: string;
	/** Path of a take of `batch` jobs, of one job without `/job-take/` in the template. */
	takePath(batch: number, busy: boolean): string;
	/** Undefined if the template has no `/job-take/`. */
	stopPath: string | undefined;
	output: UrlTemplate;
	/** Undefined unless the path of `output` is `/job-done/.../$ID`. */
	outputBatchPath: string | undefined;
	stream: UrlTemplate;
	/** Undefined for an address of another form. */
	streamBatch: UrlTemplate | undefined;
	/** Undefined without an address, a worker id or a key. */
	pingUrl: string | undefined;
	/** At least 1000 ms. */
	pingIntervalMs: number;
	/** Value of the Authorization header, without a scheme (D26). */
	key: string | undefined;
	hostname: string;
	log: LogSettings;
}

/** Protocol B.9. */
export interface LogSettings {
	json: boolean;
	level: LogLevel;
}

const DEFAULT_PING_INTERVAL_MS = 10_000;
const SHORTEST_PING_INTERVAL_MS = 1000;
const QUOTING_HINT = "Shells and compose files expand $ID to nothing unless it is quoted (compose: $$ID).";

/** Undefined without `RUNPOD_WEBHOOK_GET_JOB`, for a local run. Throws an Error naming the variable. */
export function readSettings(env: Env): Settings | undefined {
	const takeUrl = env.RUNPOD_WEBHOOK_GET_JOB;
	if (!takeUrl) return undefined;
	const workerId = env.RUNPOD_POD_ID || randomUUID();
	const template = (variable: string) => {
		const text = env[variable];
		if (!text) throw new Error(`${variable} must be set when RUNPOD_WEBHOOK_GET_JOB is: reports go there.`);
		if (!text.includes("$ID")) throw new Error(`${variable} must contain $ID in place of the job id. ${QUOTING_HINT}`);
		return urlTemplate(variable, text, workerId);
	};

	const take = urlTemplate("RUNPOD_WEBHOOK_GET_JOB", takeUrl, workerId);
	const single = take.path(workerId, "");
	if (/\/job-take\/?(\?|$)/.test(single))
		throw new Error(`RUNPOD_WEBHOOK_GET_JOB must contain $ID in place of the worker id. ${QUOTING_HINT}`);
	const separator = single.includes("?") ? "&" : "?";
	const hasRoute = single.includes("/job-take/");
	const batchPath = single.replace("/job-take/", "/job-take-batch/");
	const ping = env.RUNPOD_WEBHOOK_PING;
	const output = template("RUNPOD_WEBHOOK_POST_OUTPUT");
	const anyOutput = output.path("-", "");
	const stream = template("RUNPOD_WEBHOOK_POST_STREAM");
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
		stream,
		streamBatch: /\/job-stream\/[^/?]+\/-(?:\?|$)/.test(stream.path("-", ""))
			? {
					origin: stream.origin,
					path: (id, query) => stream.path(id, query).replace("/job-stream/", "/job-stream-batch/"),
				}
			: undefined,
		pingUrl: ping && env.RUNPOD_POD_ID && env.RUNPOD_AI_API_KEY ? pingAddress(ping, workerId) : undefined,
		pingIntervalMs: pingInterval(env.RUNPOD_PING_INTERVAL),
		key: env.RUNPOD_AI_API_KEY || undefined,
		hostname: env.RUNPOD_POD_HOSTNAME || "unknown",
		log: readLogSettings(env),
	};
}

/**
 * JSON lines if `RUNPOD_ENDPOINT_ID` is set. Level from `RUNPOD_LOG_LEVEL` or `RUNPOD_DEBUG_LEVEL`, a name or 0 to
 * 5. Default: INFO.
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

/** Headers of all calls but pings, in undici's flat form. */
export function requestHeaders(key: string | undefined): string[] {
	const headers = ["user-agent", userAgent, "content-type", "application/json"];
	return key === undefined ? headers : [...headers, "authorization", key];
}

export const userAgent: string = kitVersion.replace("sluice/", "Sluice-Worker/");
