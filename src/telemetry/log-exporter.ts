/** Exports lines of the service's log and of workers with OpenTelemetry's exporter, over OTLP (decision 0055). */
import { type HrTime, TraceFlags } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import type { ExportedLine, LogExporter } from "./contract.ts";

type LogRecord = Parameters<OTLPLogExporter["export"]>[0][number];

/** Characters of the service's log that wait for the next export. */
const MOST_TEXT = 2 ** 20;

/** Characters; the rest of a longer line is left out. */
const LONGEST_LINE = 16_384;

/** SeverityNumber of OpenTelemetry. */
const SEVERITIES: Readonly<Record<string, number>> = { debug: 5, info: 9, warn: 13, warning: 13, error: 17, fatal: 21 };

export function openLogs(
	{ delayMs }: { delayMs: number },
	q: { resource: Resource; version: string; now: () => number },
): LogExporter & { close: () => Promise<void> } {
	const exporter = new OTLPLogExporter();
	const counts = { exported: 0, dropped: 0 };
	const scope = { name: "sluice", version: q.version };
	let waiting: string[] = [];
	let size = 0;

	function recordOf({ text, at, level = "", attributes, trace }: ExportedLine): LogRecord {
		const { traceId, spanId, isSampled } = trace ?? {};
		const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
		return {
			hrTime: timeOf(at),
			hrTimeObserved: timeOf(q.now()),
			severityText: level,
			severityNumber: SEVERITIES[level.toLowerCase()] ?? 0,
			body: text.slice(0, LONGEST_LINE),
			attributes,
			...(traceId && spanId && { spanContext: { traceId, spanId, traceFlags } }),
			...{ resource: q.resource, instrumentationScope: scope, droppedAttributesCount: 0 },
		};
	}

	async function send(lines: readonly ExportedLine[]): Promise<void> {
		const own = waiting.map((line) => ownLine(line, q.now()));
		[waiting, size] = [[], 0];
		const records = [...own, ...lines].map(recordOf);
		if (records.length === 0) return;
		const isTaken = await new Promise<boolean>((resolve) =>
			exporter.export(records, ({ code }) => resolve(code === 0)),
		);
		counts[isTaken ? "exported" : "dropped"] += records.length;
	}

	return {
		delayMs,
		counts,
		add(line) {
			const text = line.slice(0, LONGEST_LINE);
			if (size + text.length > MOST_TEXT) return void (counts.dropped += 1);
			waiting.push(text);
			size += text.length;
		},
		send,
		async close() {
			await send([]);
			await exporter.shutdown();
		},
	};
}

/** Of a line as `log.ts` writes it; one that was cut is exported as it is. */
function ownLine(line: string, now: number): ExportedLine {
	try {
		const { level, time, msg, ...facts } = JSON.parse(line) as { level: string; time: string; msg: string };
		const attributes = Object.entries<unknown>(facts).map(([name, fact]) => [
			`sluice.${name}`,
			typeof fact === "object" ? JSON.stringify(fact) : fact,
		]);
		return { text: msg, at: Date.parse(time), level, attributes: Object.fromEntries(attributes) };
	} catch {
		return { text: line, at: now, attributes: {} };
	}
}

function timeOf(ms: number): HrTime {
	return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}
