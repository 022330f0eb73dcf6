/** Templates of the management API. Endpoints keep no link to theirs, so that none is ever in use. */
import { badRequest } from "../../../kernel/core/errors.ts";
import type { TemplateBody, TemplateContent } from "./template.ts";
import { isSame } from "../../../kernel/lib/same.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import type { Logins } from "./logins.ts";
import { type PageQuery, type Resource, type ResourceContext, resourceTable } from "./resource-table.ts";
import type { Secrets } from "./secrets.ts";

export interface Template extends TemplateContent {
	id: string;
	createdAt: EpochMs;
}

export type Templates = ReturnType<typeof templates>;

export function templates(d: ResourceContext & { logins: Logins; secrets: Secrets }) {
	const table = resourceTable<TemplateBody>("template", d);

	/** A deleted registry is shown as null. */
	async function viewsOf(found: readonly Resource<TemplateBody>[]): Promise<Template[]> {
		const known = new Set((await d.logins.list()).map(({ id }) => id));
		return found.map((each) => {
			const { registry, ...content } = contentOf(each);
			const { id, createdAt } = each;
			return { id, createdAt, ...content, registry: registry !== null && known.has(registry) ? registry : null };
		});
	}

	const viewOf = async (found: Resource<TemplateBody>): Promise<Template> => (await viewsOf([found]))[0]!;

	async function requireKnown({ registry, env }: Partial<TemplateContent>): Promise<void> {
		if (registry && !(await d.logins.find(registry)))
			throw badRequest([{ field: "registry", message: "is not the id of a registry. GET /v2/registries lists all." }]);
		if (env) await d.secrets.requireKnown(env);
	}

	return {
		/** Newest first. */
		page: async (q: PageQuery) => await viewsOf(await table.page(q)),

		/** The newest that are public. */
		async published({ hold, limit }: PageQuery): Promise<Template[]> {
			const found: Resource<TemplateBody>[] = [];
			for (let after: Resource<TemplateBody> | undefined, more = true; more && found.length < limit; ) {
				const page = await table.page({ after, limit, hold });
				found.push(...page.filter(({ body }) => body.public));
				after = page.at(-1);
				more = page.length === limit;
			}
			return await viewsOf(found.slice(0, limit));
		},
		get: async (id: string) => await viewOf(await table.get(id)),

		/** Throws 400 for an unknown registry or secret. */
		async create(content: TemplateContent): Promise<Template> {
			await requireKnown(content);
			const { name, env, ...body } = content;
			return await viewOf(await table.create({ name, body, sealed: JSON.stringify(env) }));
		},

		/** `change` gets the template as it is, again if another changed it meanwhile. Throws as `create`. */
		async update(id: string, change: (before: TemplateContent) => Partial<TemplateContent>): Promise<Template> {
			const now = contentOf(await table.get(id));
			const { env, ...members } = change(now);
			await requireKnown({ ...members, ...(!isSame(env, now.env) && { env }) });
			const changed = await table.update(id, (before) => {
				const { name = before.name, env, ...members } = change(contentOf(before));
				return { name, body: { ...before.body, ...members }, sealed: env && JSON.stringify(env) };
			});
			return await viewOf(changed);
		},
		remove: table.remove,
	};
}

function contentOf({ name, body, sealed }: Resource<TemplateBody>): TemplateContent {
	return { name, ...body, env: JSON.parse(sealed ?? "{}") as Record<string, string> };
}
