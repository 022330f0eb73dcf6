/** `docs/reference/api.md`: every operation, by group, from the OpenAPI document. */
import { openapiOf } from "../api-page/openapi.ts";
import type { Operation, Response } from "../api-page/openapi-types.ts";
import { ROUTES } from "../../src/modules/tables.ts";
import { boundTexts, descriptionOf, nameOf, typeText } from "../api-page/schema-text.ts";
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";
import { twinOf } from "../api-page/twins.ts";
import { code, headingAnchor, type Page, plain, table } from "./markdown.ts";
import { schemaTable } from "./schema.ts";

const document = openapiOf(ROUTES, "");

export const api: Page = {
	file: "api.md",
	title: "Operations",
	about: "every operation over HTTP: parameters, bodies, answers, errors",
	body() {
		const all = Object.entries(document.paths).flatMap(([path, item]) =>
			Object.entries(item).map(([method, operation]) => ({
				method: method.toUpperCase(),
				path,
				operation,
			})),
		);
		const groups = document.tags.map(({ name, description }) => {
			const members = all.filter(({ operation }) => operation.tags.includes(name));
			const index = table(
				["Operation", "", ""],
				members.map(({ method, path, operation }) => [
					code(`${method} ${path}`),
					operation.summary,
					`[${operation.operationId}](#${headingAnchor(operation.operationId)})`,
				]),
			);
			return `## ${name}\n\n${description}\n\n${index}\n\n${members.map((each) => section(each)).join("\n\n")}`;
		});
		const shapes = Object.entries(document.components.schemas).map(([name, schema]) =>
			[`### ${name}`, plain(descriptionOf(schema)), schemaTable(schema)].filter((part) => part !== "").join("\n\n"),
		);
		return [
			"A running service has the same at `/openapi.json` (OpenAPI 3.1) and, to read, at `/docs/api/`. " +
				"Errors are explained on [their own page](errors.md).",
			document.info.description,
			...groups,
			"## Shapes",
			"Members that are not required may be missing; later versions may add some.",
			...shapes,
		].join("\n\n");
	},
};

function section(placed: { method: string; path: string; operation: Operation }): string {
	const { method, path, operation } = placed;
	const twin = twinOf({ ...placed, method: method.toLowerCase() }, document);
	const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
	const parts = [`### ${operationId}`, `${code(`${method} ${path}`)}: ${plain(summary)} ${plain(description)}`];
	if (twin !== undefined)
		return [...parts, `Takes and answers the same as [${twin}](#${headingAnchor(twin)}).`].join("\n\n");
	if (parameters.length > 0)
		parts.push(
			table(
				["Parameter", "In", "Type", "Meaning"],
				parameters.map(({ name, in: place, schema, required, description: meaning }) => [
					code(name) + (required && place !== "path" ? " (required)" : ""),
					place,
					[typeText(schema), ...boundTexts(schema).filter((text) => !text.startsWith("matches"))].join(", "),
					plain(meaning),
				]),
			),
		);
	if (requestBody) {
		const [{ schema, example }] = Object.values(requestBody.content) as [{ schema: JsonSchema; example: unknown }];
		const shown = typeof example === "string" ? example : JSON.stringify(example);
		parts.push(`Body: ${plain(requestBody.description)}${schemaNote(schema)} For example \`${shown}\`.`);
	}
	for (const [status, response] of Object.entries(responses))
		if (status.startsWith("2")) parts.push(answer(status, response));
	const errors = Object.entries(responses)
		.filter(([status]) => /^[45]/.test(status))
		.map(
			([status, { content }]) =>
				`${status} ${Object.keys(content?.["application/json"]?.examples ?? {})
					.map((name) => `[${name}](errors.md#${headingAnchor(name)})`)
					.join(", ")}`,
		);
	if (errors.length > 0) parts.push(`Errors: ${errors.join("; ")}.`);
	return parts.join("\n\n");
}

/** The members of a body, and where more is said of them. */
function schemaNote(schema: JsonSchema): string {
	const names = Object.keys((schema as { properties?: object }).properties ?? {});
	const more = names.includes("policy")
		? ", [with their bounds](limits.md#a-submission)"
		: names.includes("workersMax")
			? ", [with their bounds](config.md#settings-of-an-endpoint)"
			: "";
	return names.length === 0 ? "" : ` Members: ${names.map(code).join(", ")}${more}.`;
}

function answer(status: string, { description, content = {}, headers = {} }: Response): string {
	const kinds = Object.entries(content).map(([type, { schema }]) =>
		type === "application/json" ? shapeText(schema) : code(type),
	);
	const own = Object.keys(headers);
	const body = kinds.length > 0 ? ` ${kinds.join(", or ")}.` : "";
	const also = own.length > 0 ? ` Headers: ${own.map(code).join(", ")}.` : "";
	return `Answer ${status}: ${plain(description)}${body}${also}`;
}

/** The shape of an answer, with a link where it has a name. */
function shapeText(schema: JsonSchema): string {
	const { $ref, items, properties, oneOf } = schema as {
		$ref?: string;
		items?: JsonSchema;
		properties?: Record<string, JsonSchema>;
		oneOf?: readonly JsonSchema[];
	};
	if ($ref !== undefined) return `[${nameOf($ref)}](#${headingAnchor(nameOf($ref))})`;
	if (oneOf) return oneOf.map(shapeText).join(" or ");
	if (items) return `a list of ${shapeText(items)}`;
	if (properties)
		return `an object of ${Object.entries(properties)
			.map(([name, member]) => `${code(name)} (${shapeText(member)})`)
			.join(", ")}`;
	return typeText(schema);
}
