/** Templates, registries, network volumes and secrets of the management API (D49). No answer has what is secret. */
import { LAST_PAGE } from "../../api/management/pages.ts";
import { LOGINS } from "../../api/management/registries.ts";
import { CHANGE_SECRET, NAME_FILTER, type Secret, SECRETS } from "../../api/management/secrets.ts";
import {
	CHANGE_TEMPLATE,
	type LIST_PUBLIC_TEMPLATES,
	SOURCE,
	type TemplateJson,
	TEMPLATES,
} from "../../api/management/templates.ts";
import { CHANGE_VOLUME, VOLUMES } from "../../api/management/volumes.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { JsonSchema, Sendable } from "../../api/definition/schema.ts";
import { changedTemplate, commandOf, newTemplate, type TemplateRequest } from "../../core/management/template.ts";
import { type Schema, withDefaults } from "../../lib/schema.ts";
import type { LoginView } from "../../engine/management/logins.ts";
import type { SecretView } from "../../engine/management/secrets.ts";
import type { Template } from "../../engine/management/templates.ts";
import type { Volume } from "../../engine/management/volumes.ts";
import { type Call, query } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { holding } from "../memory/call-memory.ts";
import { checkedParam, pageAsked, paged, readChange, readManaged } from "./exchange.ts";

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
	of: (call: Call) => Objects<Given, View>;
	json: (view: View, call: Call) => Json;
}) {
	const created = row.created as Schema;
	return {
		async create(call: Call): Promise<Json> {
			const body = withDefaults(created, await readManaged(call, created)) as Given;
			return row.json(await row.of(call).create(body), call);
		},
		get: async (call: Call<Id>): Promise<Json> => row.json(await row.of(call).get(call.params[row.id]), call),
		remove: (call: Call<Id>): Promise<void> => row.of(call).remove(call.params[row.id]),
	};
}

const loginJson = ({ id, name }: LoginView) => ({ id, name });

export const logins = {
	...handlers({
		id: "login",
		created: LOGINS.create.body.schema,
		of: ({ engine }) => engine.resources.logins,
		json: loginJson,
	}),
	async list({ engine }: Call): Promise<AnswerOf<typeof LOGINS.list>> {
		return { registries: (await engine.resources.logins.list()).map(loginJson) };
	},
};

const volumeJson = ({ createdAt: _createdAt, ...volume }: Volume) => volume;

export const volumes = {
	...handlers({
		id: "volume",
		created: VOLUMES.create.body.schema,
		of: ({ engine }) => engine.resources.volumes,
		json: volumeJson,
	}),
	async list({ engine }: Call): Promise<AnswerOf<typeof VOLUMES.list>> {
		return { networkVolumes: (await engine.resources.volumes.list()).map(volumeJson) };
	},
	async change(call: Call<"volume">): Promise<AnswerOf<typeof CHANGE_VOLUME>> {
		const body = await readChange<Pick<Volume, "name" | "size">>(call, CHANGE_VOLUME.body.schema);
		return volumeJson(await call.engine.resources.volumes.update(call.params.volume, body));
	},
};

function secretJson({ createdAt, valueLastUpdatedAt, ...secret }: SecretView, { engine }: Call): Secret {
	return {
		...secret,
		createdAt: isoJobTime(engine, createdAt),
		valueLastUpdatedAt: isoJobTime(engine, valueLastUpdatedAt),
	};
}

export const secrets = {
	...handlers({
		id: "secret",
		created: SECRETS.create.body.schema,
		of: ({ engine }) => engine.resources.secrets,
		json: secretJson,
	}),
	async list(call: Call): Promise<AnswerOf<typeof SECRETS.list>> {
		const name = query(call).get(NAME_FILTER.name) ?? undefined;
		return { secrets: (await call.engine.resources.secrets.list(name)).map((each) => secretJson(each, call)) };
	},
	async change(call: Call<"secret">): Promise<AnswerOf<typeof CHANGE_SECRET>> {
		const body = await readChange<{ value: string; description: string }>(call, CHANGE_SECRET.body.schema);
		return secretJson(await call.engine.resources.secrets.update(call.params.secret, body), call);
	},
};

/** Maximum number of public templates in an answer. */
const MOST_PUBLIC = 100;

function templateJson({ createdAt: _createdAt, ...template }: Template): Sendable<TemplateJson> {
	const { cmd, entrypoint } = commandOf(template);
	return { ...template, cmd, entrypoint };
}

export const templates = {
	...handlers({
		id: "template",
		created: TEMPLATES.create.body.schema,
		of: ({ engine }) => {
			const { templates: stored } = engine.resources;
			return { ...stored, create: (body: TemplateRequest) => stored.create(newTemplate(body)) };
		},
		json: templateJson,
	}),
	async list(call: Call): Promise<AnswerOf<typeof TEMPLATES.list>> {
		const { after, limit } = pageAsked(call);
		const found = await call.engine.resources.templates.page({ after, limit: limit + 1, hold: holding(call) });
		const { items, pagination } = paged(call, { items: found, keyOf: (each) => each });
		return { templates: items.map(templateJson), pagination };
	},
	async change(call: Call<"template">): Promise<AnswerOf<typeof CHANGE_TEMPLATE>> {
		const body = (await readManaged(call, CHANGE_TEMPLATE.body.schema)) as TemplateRequest;
		const { update } = call.engine.resources.templates;
		return templateJson(await update(call.params.template, (before) => changedTemplate(before, body)));
	},
	async listPublic(call: Call): Promise<AnswerOf<typeof LIST_PUBLIC_TEMPLATES>> {
		const isHere = checkedParam(call, SOURCE) === "official";
		const q = { limit: MOST_PUBLIC, hold: holding(call) };
		const found = isHere ? await call.engine.resources.templates.published(q) : [];
		return { templates: found.map(templateJson), pagination: LAST_PAGE };
	},
};
