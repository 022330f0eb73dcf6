/** Schemas on `/docs`: tables of members; nested ones folded, named schemas linked. */
import { html, type Html, inline } from "./html.ts";
import { boundTexts, descriptionOf, type Member, membersOf, nameOf, typeText } from "./schema-text.ts";
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";

export function memberTable(members: readonly Member[]): Html {
	return html`<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead>
<tbody>${members.map(row)}</tbody></table>`;
}

/** A table of members, or the type if there are none. */
export function schemaHtml(schema: JsonSchema): Html {
	const members = membersOf(schema);
	const type = html`<p class="type">${typeHtml(schema)}</p>`;
	if (members.length === 0) return type;
	return "oneOf" in schema ? html`${type}${memberTable(members)}` : memberTable(members);
}

/** Anchor of a named schema. */
export function schemaAnchor(name: string): string {
	return `schema-${name}`;
}

function row({ name, required, schema }: Member): Html {
	const inner = membersOf(schema);
	const count = inner.length === 1 ? "1 member" : `${inner.length} members`;
	const folded = html`<details><summary>${count}</summary>${memberTable(inner)}</details>`;
	const bounds = boundTexts(schema).map((bound) => html`<span class="bound">${bound}</span>`);
	const needed = required ? html` <span class="needed">required</span>` : undefined;
	return html`<tr><td><code>${name}</code>${needed}</td><td class="type">${typeHtml(schema)}${bounds}</td>
<td>${inline(descriptionOf(schema))}${inner.length === 0 ? undefined : folded}</td></tr>`;
}

function typeHtml(schema: JsonSchema): Html {
	const { $ref, items, oneOf } = schema as {
		$ref?: string;
		items?: JsonSchema;
		oneOf?: readonly JsonSchema[];
	};
	if (oneOf && oneOf.some((branch) => "items" in branch))
		return html`${oneOf.map((branch, at) => html`${at === 0 ? "" : " or "}${typeHtml(branch)}`)}`;
	if (items && "$ref" in items) return html`list of ${typeHtml(items)}`;
	if ($ref === undefined) return html`${typeText(schema)}`;
	const name = nameOf($ref);
	return html`<a href="#${schemaAnchor(name)}">${name}</a>`;
}
