/** Values as YAML that is safe on a terminal: it holds text of workers and clients. */
import { Document, isScalar, Scalar, visit } from "yaml";
import { UNPRINTABLE } from "../../kernel/lib/terminal-text.ts";

/** Line ends and tabs steer nothing, and YAML has its own forms for them. */
const isKept = (char: string): boolean => char === "\n" || char === "\t";

/** Parses to the same value: what a terminal must not get stands as `\uXXXX` in double quotes, which alone allow it. */
export function yamlText(value: unknown): string {
	const document = new Document(value);
	visit(document, {
		Scalar(_, node) {
			if (isScalar(node) && typeof node.value === "string" && escaped(node.value) !== node.value)
				node.type = Scalar.QUOTE_DOUBLE;
		},
	});
	return escaped(document.toString());
}

function escaped(text: string): string {
	return text.replace(UNPRINTABLE, (char) =>
		isKept(char) ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
