/** What clients may rely on in `/openapi.json`: operations, parameters, members of bodies and of answers of success. */
import type { OpenApi } from "../../scripts/api-page/openapi-types.ts";

interface Schema {
	$ref?: string;
	properties?: Record<string, Schema>;
	items?: Schema;
	additionalProperties?: Schema | boolean;
	anyOf?: Schema[];
	oneOf?: Schema[];
	allOf?: Schema[];
}

interface Body {
	content?: Record<string, { schema?: Schema }>;
}

interface Described {
	operationId: string;
	parameters?: { in: string; name: string }[];
	requestBody?: Body;
	responses: Record<string, Body>;
}

/** Members of a schema, as paths that begin with `at`. What it refers to has lines of its own. */
function schemaMembers(schema: Schema | undefined, at: string): string[] {
	if (!schema) return [];
	const { $ref, properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
	if ($ref) return [`${at} ${$ref.slice("#/components/".length)}`];
	return [
		...Object.entries(properties).flatMap(([name, member]) => [
			`${at}.${name}`,
			...schemaMembers(member, `${at}.${name}`),
		]),
		...schemaMembers(items, `${at}[]`),
		...(typeof additionalProperties === "object" ? schemaMembers(additionalProperties, `${at}.*`) : []),
		...[...anyOf, ...oneOf, ...allOf].flatMap((one) => schemaMembers(one, at)),
	];
}

const bodyMembers = (body: Body | undefined, at: string): string[] =>
	Object.entries(body?.content ?? {}).flatMap(([type, { schema }]) => [
		`${at} ${type}`,
		...schemaMembers(schema, `${at} ${type}`),
	]);

/** By operation and by name of a schema; sorted, each once. Of answers those of success. */
export function membersOf(document: OpenApi): Record<string, string[]> {
	const { paths, components } = document as unknown as {
		paths: Record<string, Record<string, Described>>;
		components: { schemas: Record<string, Schema> };
	};
	const operations = Object.entries(paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, { operationId, parameters = [], requestBody, responses }]) => {
			const members = [
				...parameters.map((parameter) => `${parameter.in} ${parameter.name}`),
				...bodyMembers(requestBody, "body"),
				...Object.entries(responses)
					.filter(([status]) => status.startsWith("2"))
					.flatMap(([status, answer]) => bodyMembers(answer, status)),
			];
			return [`${method.toUpperCase()} ${path} ${operationId}`, members] as const;
		}),
	);
	const schemas = Object.entries(components.schemas).map(
		([name, schema]) => [name, schemaMembers(schema, "")] as const,
	);
	return Object.fromEntries(
		[...operations, ...schemas]
			.map(([name, members]) => [name, [...new Set(members)].toSorted()] as const)
			.toSorted(([one], [other]) => (one < other ? -1 : 1)),
	);
}

/** What is recorded and no longer there. */
export function missing(
	recorded: Readonly<Record<string, readonly string[]>>,
	present: Readonly<Record<string, readonly string[]>>,
): string[] {
	return Object.entries(recorded).flatMap(([name, members]) => {
		const now = present[name];
		return now ? members.filter((member) => !now.includes(member)).map((member) => `${name}: ${member}`) : [name];
	});
}
