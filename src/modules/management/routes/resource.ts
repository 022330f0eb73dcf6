/** Operations on the objects of one kind, made of a row: list, create, get, change and remove (D49). */
import type { Schema } from "../../../kernel/lib/schema.ts";
import type { ParamDescription } from "../../../kernel/api/definition/params.ts";
import type { RouteDefinition } from "../../../kernel/api/definition/route.ts";
import type { JsonSchema } from "../../../kernel/api/definition/schema.ts";
import { DELETED, managed, NOT_FOUND } from "./operation.ts";

interface Row<One extends string, Many extends string, Path, Id, Item, All, Created> {
	/** In the names of operations, such as getTemplate and listTemplates. */
	names: readonly [one: One, many: Many];
	path: Path;
	/** Parameter of the path. */
	id: Id;
	answer: { description: string; schema: Item };
	all: { description: string; schema: All };
	query?: readonly ParamDescription[];
	create: { summary: string; description: string; schema: Created; errors?: RouteDefinition["errors"] };
	remove: Pick<RouteDefinition, "summary" | "errors">;
	/** Sentences about the operations list and get. */
	summaries: readonly [list: string, get: string];
	/** Answers have the values of variables. */
	showsValues?: true;
}

export function resource<
	const One extends string,
	const Many extends string,
	const Path extends `/v2/${string}`,
	const Id extends string,
	const Item extends JsonSchema,
	const All extends JsonSchema,
	const Created extends JsonSchema,
>({ names: [one, many], path, id, answer, all, query, create, ...q }: Row<One, Many, Path, Id, Item, All, Created>) {
	const shows = q.showsValues && { showsValues: q.showsValues };
	const { summary, errors, ...body } = create;
	return {
		list: managed(`list${many}`, `GET ${path}`, {
			summary: q.summaries[0],
			answer: all,
			...(query && { query }),
			...shows,
		}),
		create: managed(`create${one}`, `POST ${path}`, { summary, status: 201, answer, body, ...(errors && { errors }) }),
		get: managed(`get${one}`, `GET ${path}/:${id}`, { summary: q.summaries[1], answer, errors: NOT_FOUND, ...shows }),
		remove: managed(`remove${one}`, `DELETE ${path}/:${id}`, {
			status: 204,
			answer: DELETED,
			...q.remove,
		}),
	};
}

/** The operation of objects that can be changed. */
export function changeOf<
	const One extends string,
	const Path extends `/v2/${string}`,
	const Item extends JsonSchema,
	const Changed extends Schema,
>(q: {
	name: One;
	path: Path;
	answer: { description: string; schema: Item };
	summary: string;
	body: { description: string; schema: Changed };
}) {
	return managed(`change${q.name}`, `PATCH ${q.path}`, {
		summary: q.summary,
		answer: q.answer,
		body: q.body,
		errors: NOT_FOUND,
	});
}
