/** Templates of the management API (D49). */
import {
	CHANGE_TEMPLATE,
	CREATE_TEMPLATE,
	GET_TEMPLATE,
	LIST_PUBLIC_TEMPLATES,
	LIST_TEMPLATES,
	SOURCE,
	type TemplateJson,
} from "../../api/management/templates.ts";
import { LAST_PAGE } from "../../api/management/pages.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import { commandOf, changedTemplate, newTemplate, type TemplateRequest } from "../../core/management/template.ts";
import { withDefaults } from "../../lib/schema.ts";
import type { Template } from "../../engine/management/templates.ts";
import type { Call } from "../exchange/call.ts";
import { auditShown } from "../gates/audit.ts";
import { holding } from "../memory/call-memory.ts";
import { checkedParam, pageAsked, paged, readManaged } from "./exchange.ts";

/** Maximum number of public templates in an answer. */
const MOST_PUBLIC = 100;

export async function list(call: Call): Promise<AnswerOf<typeof LIST_TEMPLATES>> {
	const { after, limit } = pageAsked(call);
	const found = await call.engine.resources.templates.page({ after, limit: limit + 1, hold: holding(call) });
	const { items, pagination } = paged(call, { items: found, keyOf: (each) => each });
	await auditShown(call, LIST_TEMPLATES, items);
	return { templates: items.map(templateJson), pagination };
}

export async function create(call: Call): Promise<AnswerOf<typeof CREATE_TEMPLATE>> {
	const { schema } = CREATE_TEMPLATE.body;
	const body = withDefaults(schema, await readManaged(call, schema)) as TemplateRequest;
	return templateJson(await call.engine.resources.templates.create(newTemplate(body)));
}

export async function get(call: Call<"template">): Promise<AnswerOf<typeof GET_TEMPLATE>> {
	const template = await call.engine.resources.templates.get(call.params.template);
	await auditShown(call, GET_TEMPLATE, [template]);
	return templateJson(template);
}

export async function change(call: Call<"template">): Promise<AnswerOf<typeof CHANGE_TEMPLATE>> {
	const body = (await readManaged(call, CHANGE_TEMPLATE.body.schema)) as TemplateRequest;
	const { templates } = call.engine.resources;
	return templateJson(await templates.update(call.params.template, (before) => changedTemplate(before, body)));
}

export async function remove({ engine, params }: Call<"template">): Promise<void> {
	await engine.resources.templates.remove(params.template);
}

export async function listPublic(call: Call): Promise<AnswerOf<typeof LIST_PUBLIC_TEMPLATES>> {
	const isHere = checkedParam(call, SOURCE) === "official";
	const found = isHere
		? await call.engine.resources.templates.published({ limit: MOST_PUBLIC, hold: holding(call) })
		: [];
	await auditShown(call, LIST_PUBLIC_TEMPLATES, found);
	return { templates: found.map(templateJson), pagination: LAST_PAGE };
}

function templateJson({ createdAt: _createdAt, ...template }: Template): Sendable<TemplateJson> {
	const { cmd, entrypoint } = commandOf(template);
	return { ...template, cmd, entrypoint };
}
