/** Templates, registries, network volumes and secrets of the management API (D49). No answer has what is secret. */
import { LAST_PAGE } from "../routes/pages.ts";
import { LOGINS } from "../routes/registries.ts";
import { CHANGE_SECRET, NAME_FILTER, type Secret, SECRETS } from "../routes/secrets.ts";
import {
	CHANGE_TEMPLATE,
	type LIST_PUBLIC_TEMPLATES,
	SOURCE,
	type TemplateJson,
	TEMPLATES,
} from "../routes/templates.ts";
import { CHANGE_VOLUME, VOLUMES } from "../routes/volumes.ts";
import type { AnswerOf } from "../../../kernel/api/definition/route.ts";
import type { JsonSchema, Sendable } from "../../../kernel/api/definition/schema.ts";
import { changedTemplate, commandOf, newTemplate, type TemplateRequest } from "./template.ts";
import { type Schema, withDefaults } from "../../../kernel/lib/schema.ts";
import type { LoginView, Logins } from "./logins.ts";
import type { SecretView, Secrets } from "./secrets.ts";
import type { Template, Templates } from "./templates.ts";
import type { Volume, Volumes } from "./volumes.ts";
import { type Call, query } from "../../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../../kernel/http/exchange/format.ts";
import { holding } from "../../../kernel/http/memory/call-memory.ts";
import { checkedParam, pageAsked, paged, readChange, readManaged } from "../exchange.ts";

/** What handlers need of the objects of one kind. */
interface Objects<Given, View> {
	create: (given: Given) => Promise<View>;
	get: (id: string) => Promise<View>;
	remove: (id: string) => Promise<void>;
}

/** The handlers that all kinds have, of a row: what differs. */
function handlers<const Id extends string, Given, View, Json>(row: {
	/** Parameter of the path. */
	id: Id;
	created: JsonSchema;
	objects: Objects<Given, View>;
	json: (view: View, call: Call) => Json;
}) {
	const created = row.created as Schema;
	return {
		async create(call: Call): Promise<Json> {
			const body = withDefaults(created, await readManaged(call, created)) as Given;
			return row.json(await row.objects.create(body), call);
		},
		get: async (call: Call<Id>): Promise<Json> => row.json(await row.objects.get(call.params[row.id]), call),
		remove: (call: Call<Id>): Promise<void> => row.objects.remove(call.params[row.id]),
	};
}

const loginJson = ({ id, name }: LoginView) => ({ id, name });

export function loginHandlers(logins: Logins) {
	return {
		...handlers({ id: "login", created: LOGINS.create.body.schema, objects: logins, json: loginJson }),
		list: async (): Promise<AnswerOf<typeof LOGINS.list>> => ({ registries: (await logins.list()).map(loginJson) }),
	};
}

const volumeJson = ({ createdAt: _createdAt, ...volume }: Volume) => volume;

export function volumeHandlers(volumes: Volumes) {
	return {
		...handlers({ id: "volume", created: VOLUMES.create.body.schema, objects: volumes, json: volumeJson }),
		list: async (): Promise<AnswerOf<typeof VOLUMES.list>> => ({
			networkVolumes: (await volumes.list()).map(volumeJson),
		}),
		async change(call: Call<"volume">): Promise<AnswerOf<typeof CHANGE_VOLUME>> {
			const body = await readChange<Pick<Volume, "name" | "size">>(call, CHANGE_VOLUME.body.schema);
			return volumeJson(await volumes.update(call.params.volume, body));
		},
	};
}

function secretJson({ createdAt, valueLastUpdatedAt, ...secret }: SecretView, { engine }: Call): Secret {
	return {
		...secret,
		createdAt: isoJobTime(engine, createdAt),
		valueLastUpdatedAt: isoJobTime(engine, valueLastUpdatedAt),
	};
}

export function secretHandlers(secrets: Secrets) {
	return {
		...handlers({ id: "secret", created: SECRETS.create.body.schema, objects: secrets, json: secretJson }),
		async list(call: Call): Promise<AnswerOf<typeof SECRETS.list>> {
			const name = query(call).get(NAME_FILTER.name) ?? undefined;
			return { secrets: (await secrets.list(name)).map((each) => secretJson(each, call)) };
		},
		async change(call: Call<"secret">): Promise<AnswerOf<typeof CHANGE_SECRET>> {
			const body = await readChange<{ value: string; description: string }>(call, CHANGE_SECRET.body.schema);
			return secretJson(await secrets.update(call.params.secret, body), call);
		},
	};
}

/** Maximum number of public templates in an answer. */
const MOST_PUBLIC = 100;

function templateJson({ createdAt: _createdAt, ...template }: Template): Sendable<TemplateJson> {
	const { cmd, entrypoint } = commandOf(template);
	return { ...template, cmd, entrypoint };
}

export function templateHandlers(templates: Templates) {
	return {
		...handlers({
			id: "template",
			created: TEMPLATES.create.body.schema,
			objects: { ...templates, create: (body: TemplateRequest) => templates.create(newTemplate(body)) },
			json: templateJson,
		}),
		async list(call: Call): Promise<AnswerOf<typeof TEMPLATES.list>> {
			const { after, limit } = pageAsked(call);
			const found = await templates.page({ after, limit: limit + 1, hold: holding(call) });
			const { items, pagination } = paged(call, { items: found, keyOf: (each) => each });
			return { templates: items.map(templateJson), pagination };
		},
		async change(call: Call<"template">): Promise<AnswerOf<typeof CHANGE_TEMPLATE>> {
			const body = (await readManaged(call, CHANGE_TEMPLATE.body.schema)) as TemplateRequest;
			return templateJson(await templates.update(call.params.template, (before) => changedTemplate(before, body)));
		},
		async listPublic(call: Call): Promise<AnswerOf<typeof LIST_PUBLIC_TEMPLATES>> {
			const isHere = checkedParam(call, SOURCE) === "official";
			const found = isHere ? await templates.published({ limit: MOST_PUBLIC, hold: holding(call) }) : [];
			return { templates: found.map(templateJson), pagination: LAST_PAGE };
		},
	};
}
