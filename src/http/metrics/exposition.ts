/** Prometheus text format (decision 0026 on libraries). */
import { atMost, type Histogram, sizeOfHistogram } from "../../lib/histogram.ts";
import type { Family } from "./definition.ts";

/** Bucket bounds are 2^power, of times ms: 1 ms to 70 min. Each is also a bound of the finer histogram. */
const POWERS = Array.from({ length: 12 }, (_, index) => 2 * index);

export function exposition(families: readonly Family[]): string {
	return families
		.flatMap(({ name, type, help, labels, samples }) => {
			const lines = samples.flatMap(([values, value]) => {
				const pairs = labels.map((label, index) => pair(label, values[index] ?? ""));
				return typeof value === "object" ? bucketsOf(name, pairs, value) : line(name, pairs, value);
			});
			return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`, ...lines];
		})
		.join("");
}

/** Seconds are kept as ms. */
function bucketsOf(name: string, labels: readonly string[], histogram: Histogram): string[] {
	const size = sizeOfHistogram(histogram);
	const scale = name.endsWith("_seconds") ? 1000 : 1;
	const bucket = (bound: string, count: number): string =>
		line(`${name}_bucket`, [...labels, pair("le", bound)], count);
	return [
		...POWERS.map((power) => bucket(String(2 ** power / scale), atMost(histogram, power))),
		bucket("+Inf", size),
		line(`${name}_sum`, labels, histogram.sum / scale),
		line(`${name}_count`, labels, size),
	];
}

function pair(label: string, text: string): string {
	return `${label}="${text.replace(/[\\"\n]/g, (char) => (char === "\n" ? "\\n" : `\\${char}`))}"`;
}

function line(name: string, labels: readonly string[], value: number): string {
	return `${name}${labels.length === 0 ? "" : `{${labels.join(",")}}`} ${value}\n`;
}
