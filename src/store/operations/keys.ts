import type { KeyRow } from "../contract/keys.ts";

/** Whether a key may be removed: the last one with scope `keep` stays (D30). */
export function removal(
	keys: readonly KeyRow[],
	{ id, keep }: { id: string; keep?: string | undefined },
): "removed" | "missing" | "last" {
	const key = keys.find((each) => each.id === id);
	if (!key) return "missing";
	const holders = keys.filter((each) => keep !== undefined && each.scopes.includes(keep));
	return holders.length === 1 && holders[0] === key ? "last" : "removed";
}
