/**
 * The text format of Prometheus: families of samples, each told once with what it is. Written by
 * hand: a library would bring its own registry and count everything a second time.
 */
import { atMost, sizeOfHistogram } from "../../core/metrics/histogram.ts";
import type { Histogram } from "../../core/metrics/histogram.ts";

/** Media type of the text. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string>>;

/** Numbers under one name. Absent ones are left out. */
export interface Family {
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly (readonly [labels: Labels, value: number | undefined])[];
}

/** Durations under one name, told in seconds. */
export interface Durations {
	name: string;
	type: "histogram";
	help: string;
	samples: readonly (readonly [labels: Labels, histogram: Histogram])[];
}

/**
 * Bounds of the buckets are 2^power ms, from a millisecond to 70 minutes: exact, since durations
 * are counted in finer ones.
 */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

/** The text of all families. */
export function exposition(families: readonly (Family | Durations)[]): string {
	return (
		families
			.flatMap((family) => [
				`# HELP ${family.name} ${family.help}`,
				`# TYPE ${family.name} ${family.type}`,
				...linesOf(family),
			])
			.join("\n") + "\n"
	);
}

function linesOf(family: Family | Durations): string[] {
	if (family.type === "histogram")
		return family.samples.flatMap(([labels, histogram]) =>
			durations(family.name, labels, histogram),
		);
	return family.samples.flatMap(([labels, value]) =>
		value === undefined ? [] : [line(family.name, labels, value)],
	);
}

function durations(name: string, labels: Labels, histogram: Histogram): string[] {
	const size = sizeOfHistogram(histogram);
	return [
		...POWERS.map((power) =>
			line(
				`${name}_bucket`,
				{ ...labels, le: String(2 ** power / 1000) },
				atMost(histogram, power),
			),
		),
		line(`${name}_bucket`, { ...labels, le: "+Inf" }, size),
		line(`${name}_sum`, labels, histogram.sum / 1000),
		line(`${name}_count`, labels, size),
	];
}

function line(name: string, labels: Labels, value: number): string {
	const told = Object.entries(labels).map(
		([label, text]) =>
			`${label}="${text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`))}"`,
	);
	return `${name}${told.length === 0 ? "" : `{${told.join(",")}}`} ${value}`;
}
