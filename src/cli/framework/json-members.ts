/** Members of a JSON object as their exact source text (D5). */
import { JsonScanner } from "../../kernel/lib/json/json-scan.ts";

/** `object`: whether the value is one. `fault`: why the text is not JSON. */
type Members = { ok: true; object: boolean; texts: Record<string, string | undefined> } | { ok: false; fault: string };

/** The last of duplicates counts. */
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
	const texts: Record<string, string | undefined> = {};
	for (const name of names) {
		const member = scan.members[name];
		texts[name] = member && bytes.toString("utf8", member.start, member.end);
	}
	return { ok: true, object: scan.kind === "object", texts };
}
