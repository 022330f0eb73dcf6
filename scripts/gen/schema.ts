/** Schemas as Markdown tables, with the words of the reading page. */
import { boundTexts, descriptionOf, membersOf, typeText } from "../api-page/schema-text.ts";
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";
import { code, plain, table } from "./markdown.ts";

/** All members of a schema, those inside others by their path. */
export function schemaTable(schema: JsonSchema): string {
	return table(["Member", "Type", "Bounds", "Meaning"], rows(schema, ""));
}

function rows(schema: JsonSchema, prefix: string): string[][] {
	return membersOf(schema).flatMap(({ name, required, schema: member }) => {
		const list = (member as { type?: string }).type === "array";
		const place = `${prefix}${name}`;
		return [
			[
				code(place) + (required ? " (required)" : ""),
				typeText(member),
				boundTexts(member)
					.map((text) => (text.startsWith("matches ") ? `matches ${code(text.slice(8))}` : text))
					.join("; "),
				plain(descriptionOf(member)),
			],
			...rows(member, `${place}${list ? "[]" : ""}.`),
		];
	});
}
