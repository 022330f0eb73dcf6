/** Members of a JSON object as their exact source text (D5). */
import { JsonScanner } from "../core/json/json-scan.ts";

/** `object`: whether the value is one. `fault`: why it is not JSON. */
type Members = { ok: true; object: boolean; texts: Record<string, string | undefined> } | { ok: false; fault: string };

/** Returns the members; of duplicates the last. */
export function membersOf(
	text: string | Uint8Array,
	names: readonly string[],
	bounds: { maxDepth?: number; maxDigits?: number } = {},
): Members {
	const bytes = Buffer.from(text);
	const scanner = new JsonScanner({ members: names, ...bounds });
	scanner.push(bytes);
	const scan = scanner.finish();
	if (!scan.ok) return { ok: false, fault: scan.fault.message };
	const texts = Object.fromEntries(
		names.map((name) => {
			const member = scan.members[name];
			return [name, member && bytes.toString("utf8", member.start, member.end)];
		}),
	);
	return { ok: true, object: scan.kind === "object", texts };
}
