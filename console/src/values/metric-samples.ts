/** Samples of `/metrics`, of the families that the console shows. */

export interface Samples {
	/** Ms since the epoch. */
	readAt: number;
	/** The first sample of the name with this label. */
	of: (name: string, labels?: Readonly<Record<string, string>>) => number | undefined;
	/** Values by a label, in their order. */
	by: (name: string, label: string) => readonly (readonly [value: string, sample: number])[];
}

interface Sample {
	labels: Readonly<Record<string, string>>;
	value: number;
}

const LABEL = /[{,](\w+)="((?:[^"\\]|\\.)*)"/gy;

/** Families whose names do not begin with a prefix are passed over: those of endpoints are many. */
export function samplesOf(text: string, prefixes: readonly string[], readAt: number): Samples {
	const families = new Map<string, Sample[]>();
	for (const line of text.split("\n")) {
		if (!prefixes.some((prefix) => line.startsWith(prefix))) continue;
		const name = line.slice(0, line.search(/[{ ]/));
		const end = line.lastIndexOf(" ");
		const labels: Record<string, string> = {};
		for (const [, label = "", value = ""] of line.slice(name.length, end).matchAll(LABEL))
			labels[label] = value.replace(/\\(.)/g, (_, each: string) => (each === "n" ? "\n" : each));
		const family = families.get(name) ?? [];
		family.push({ labels, value: Number(line.slice(end + 1)) });
		families.set(name, family);
	}
	const all = (name: string): readonly Sample[] => families.get(name) ?? [];
	return {
		readAt,
		of: (name, wanted = {}) =>
			all(name).find(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))?.value,
		by: (name, label) => all(name).map(({ labels, value }) => [labels[label] ?? "", value]),
	};
}

/** A histogram as the counts of its buckets by their upper bounds; what was counted before is left out. */
export function bucketsOf(
	now: Samples,
	before: Samples | undefined,
	name: string,
): readonly (readonly [number, number])[] {
	const old = new Map(before?.by(`${name}_bucket`, "le"));
	let below = 0;
	return now.by(`${name}_bucket`, "le").map(([bound, total]) => {
		const sum = total - (old.get(bound) ?? 0);
		const count = sum - below;
		below = sum;
		return [Number(bound.replace("+Inf", "Infinity")), count];
	});
}

/** The value below which that share lies, by a straight line in its bucket; undefined without any. */
export function quantile(
	buckets: readonly (readonly [bound: number, count: number])[],
	share: number,
): number | undefined {
	const all = buckets.reduce((sum, [, count]) => sum + count, 0);
	if (all === 0) return undefined;
	let [below, least] = [0, 0];
	for (const [bound, count] of buckets) {
		if (below + count >= share * all)
			return bound === Infinity ? least : least + (bound - least) * ((share * all - below) / count);
		below += count;
		least = bound;
	}
	return least;
}
