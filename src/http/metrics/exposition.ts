/** Prometheus text format (decision 0026 on libraries). */
import { atMost, type Histogram, sizeOfHistogram } from "../../lib/histogram.ts";

type Labels = Readonly<Record<string, string>>;

/** Undefined values are omitted. */
export interface Family {
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly (readonly [labels: Labels, value: number | undefined])[];
}

export function gauge(name: string, help: string, samples: Family["samples"]): Family {
	return { name, type: "gauge", help, samples };
}

export function counter(name: string, help: string, samples: Family["samples"]): Family {
	return { name, type: "counter", help, samples };
}

export interface Durations {
	name: string;
	type: "histogram";
	help: string;
	samples: readonly (readonly [labels: Labels, histogram: Histogram])[];
}

/** Bucket bounds are 2^power ms, 1 ms to 70 min. Each is also a bound of the finer histogram. */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

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
		return family.samples.flatMap(([labels, histogram]) => durations(family.name, labels, histogram));
	return family.samples.flatMap(([labels, value]) => (value === undefined ? [] : [line(family.name, labels, value)]));
}

function durations(name: string, labels: Labels, histogram: Histogram): string[] {
	const size = sizeOfHistogram(histogram);
	return [
		...POWERS.map((power) =>
			line(`${name}_bucket`, { ...labels, le: String(2 ** power / 1000) }, atMost(histogram, power)),
		),
		line(`${name}_bucket`, { ...labels, le: "+Inf" }, size),
		line(`${name}_sum`, labels, histogram.sum / 1000),
		line(`${name}_count`, labels, size),
	];
}

function line(name: string, labels: Labels, value: number): string {
	const pairs = Object.entries(labels).map(
		([label, text]) => `${label}="${text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`))}"`,
	);
	return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}
