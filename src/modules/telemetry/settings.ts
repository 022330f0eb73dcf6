/** The standard OTEL_* variables for traces. The exporter reads its own (OTEL_EXPORTER_OTLP_*). */
import type { Env } from "../../kernel/lib/env.ts";

export interface TraceSettings {
	sampler: (typeof SAMPLERS)[number];
	/** 0 to 1, of the samplers with `traceidratio`. */
	ratio: number;
	/** Sizes and times (ms) of the batches; absent: the SDK's. */
	batch: {
		scheduledDelayMillis?: number;
		exportTimeoutMillis?: number;
		maxQueueSize?: number;
		maxExportBatchSize?: number;
	};
}

const SAMPLERS = [
	"always_on",
	"always_off",
	"traceidratio",
	"parentbased_always_on",
	"parentbased_always_off",
	"parentbased_traceidratio",
] as const;

const BATCH = {
	scheduledDelayMillis: "OTEL_BSP_SCHEDULE_DELAY",
	exportTimeoutMillis: "OTEL_BSP_EXPORT_TIMEOUT",
	maxQueueSize: "OTEL_BSP_MAX_QUEUE_SIZE",
	maxExportBatchSize: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
};

/** Undefined: no traces. Throws an error with the variable, its bound and its value. */
export function traceSettings(env: Env): TraceSettings | undefined {
	const value = (name: string): string | undefined => env[name]?.trim() || undefined;
	if (value("OTEL_SDK_DISABLED")?.toLowerCase() === "true" || !isExported(value)) return undefined;
	return { ...samplerOf(value), batch: batchOf(value) };
}

type Value = (name: string) => string | undefined;

function isExported(value: Value): boolean {
	const exporter = value("OTEL_TRACES_EXPORTER");
	if (exporter === "none") return false;
	if (exporter !== undefined && exporter !== "otlp")
		throw new Error(`OTEL_TRACES_EXPORTER must be otlp or none, not "${exporter}".`);
	/** The variable for traces wins over that of all signals. */
	const nameOf = (what: string): string =>
		[`OTEL_EXPORTER_OTLP_TRACES_${what}`, `OTEL_EXPORTER_OTLP_${what}`].find((name) => value(name)) ?? "";
	const [at, by] = [nameOf("ENDPOINT"), nameOf("PROTOCOL")];
	if (exporter === undefined && at === "") return false;
	if (at !== "" && !/^https?:$/.test(URL.parse(value(at)!)?.protocol ?? ""))
		throw new Error(`${at} must be an http or https URL, such as http://localhost:4318.`);
	if (by !== "" && value(by) !== "http/protobuf")
		throw new Error(`${by} must be http/protobuf, not "${value(by)}": collectors have it at port 4318.`);
	return true;
}

function samplerOf(value: Value): Omit<TraceSettings, "batch"> {
	const name = value("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on";
	const sampler = SAMPLERS.find((each) => each === name);
	if (!sampler) throw new Error(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(", ")}, not "${name}".`);
	const ratio = Number(value("OTEL_TRACES_SAMPLER_ARG") ?? 1);
	if (!(ratio >= 0 && ratio <= 1))
		throw new Error("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, such as 0.01.");
	return { sampler, ratio };
}

function batchOf(value: Value): TraceSettings["batch"] {
	const batch: TraceSettings["batch"] = {};
	for (const [option, variable] of Object.entries(BATCH)) {
		const text = value(variable);
		if (text === undefined) continue;
		if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${variable} must be a whole number over 0, not "${text}".`);
		batch[option as keyof typeof BATCH] = Number(text);
	}
	return batch;
}
