/** Prometheus text format (decision 0026 on libraries). */
import type { Family } from "../../../kernel/core/metrics/family.ts";
import { atMost, type Histogram, sizeOfHistogram } from "../../../kernel/lib/histogram.ts";

export function exposition(families: readonly Family[]): string {
	return families
		.flatMap(({ name, type, help, labels, samples }) => {
			const lines = samples.flatMap(([values, value]) => {
				const pairs = labels.map((label, index) => pair(label, values[index] ?? ""));
				return typeof value === "object" ? linesOf(name, pairs, value) : line(name, pairs, value);
			});
			return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`, ...lines];
		})
		.join("");
}

function linesOf(name: string, labels: readonly string[], histogram: Histogram): string[] {
	const { bounds, upTo, count, sum } = bucketsOf(name, histogram);
	const bucket = (bound: string, size: number): string => line(`${name}_bucket`, [...labels, pair("le", bound)], size);
	return [
		...bounds.map((bound, index) => bucket(String(bound), upTo[index]!)),
		bucket("+Inf", count),
		line(`${name}_sum`, labels, sum),
		line(`${name}_count`, labels, count),
	];
}

function pair(label: string, text: string): string {
	return `${label}="${text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`))}"`;
}

function line(name: string, labels: readonly string[], value: number): string {
	return `${name}${labels.length === 0 ? "" : `{${labels.join(",")}}`} ${value}\n`;
}

/** Bounds are 2^power, of times ms: 1 ms to 70 min. Each is also a bound of the finer histogram. */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

/** Buckets in the unit of the name. `upTo`: counts up to each bound. */
function bucketsOf(name: string, histogram: Histogram) {
	const scale = name.endsWith("_seconds") ? 1000 : 1;
	return {
		bounds: POWERS.map((power) => 2 ** power / scale),
		upTo: POWERS.map((power) => atMost(histogram, power)),
		count: sizeOfHistogram(histogram),
		sum: histogram.sum / scale,
	};
}
