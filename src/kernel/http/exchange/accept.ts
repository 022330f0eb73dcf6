/** What a client accepts, with its weights (RFC 9110, 12.5). */

/** The weight of each lower-case name, 0 to 1. Names of media types are without their parameters. */
export type Weights = ReadonlyMap<string, number>;

export function weightsIn(header: string): Weights {
	const weights = new Map<string, number>();
	for (const each of header.split(",")) {
		const [name = "", ...params] = each.split(";").map((part) => part.trim().toLowerCase());
		if (name !== "") weights.set(name, weightIn(params));
	}
	return weights;
}

/** A weight that is not valid counts as 1. */
function weightIn(params: readonly string[]): number {
	const text = params.find((each) => each.startsWith("q="))?.slice(2);
	return text !== undefined && /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 1;
}

/**
 * Returns the weight of a name: that of the most specific entry, `text/html`, else `text/*`, else `*`; 0 without one.
 */
export function weightOf(weights: Weights, name: string): number {
	const [type] = name.split("/");
	return weights.get(name) ?? weights.get(`${type}/*`) ?? weights.get("*/*") ?? weights.get("*") ?? 0;
}

/** Whether the header names `special` and wants it at least as much as `usual`. */
export function prefers(header: string | undefined, special: string, usual: string): boolean {
	if (header === undefined) return false;
	const weights = weightsIn(header);
	const weight = weights.get(special) ?? 0;
	return weight > 0 && weight >= weightOf(weights, usual);
}
