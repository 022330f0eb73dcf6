/** Objects of one kind of the management API, as its rules see them. */
import { ApiError, badRequest } from "../../core/errors.ts";
import { hex } from "../../lib/ids.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { Encryption } from "../../secrets/encryption.ts";
import type { ResourceKind, ResourcePage, ResourceRow } from "../../store/contract/resources.ts";
import type { EngineContext } from "../context.ts";
import { resealText } from "../endpoints/sealed-settings.ts";

/** Maximum number of each kind. */
const MOST = 1000;

const ID_BYTES = 5;

const KINDS = {
	template: { noun: "template", list: "GET /v2/templates" },
	registry: { noun: "registry", list: "GET /v2/registries" },
	volume: { noun: "network volume", list: "GET /v2/network-volumes" },
	secret: { noun: "secret", list: "GET /v2/account/secrets" },
} as const satisfies Record<ResourceKind, unknown>;

export interface ResourceContext extends EngineContext {
	encryption: Encryption;
}

/** `sealed`: kept as it is where a change leaves it out. */
export interface Content<Body> {
	name: string;
	body: Body;
	sealed?: string | undefined;
}

export interface Resource<Body> extends Omit<Content<Body>, "sealed"> {
	id: string;
	/** Undefined if there is none, or it cannot be read: it was encrypted with another key. */
	sealed: string | undefined;
	createdAt: EpochMs;
}

/** `hold`: called with the number of characters before they are read. */
export interface PageQuery extends Omit<ResourcePage, "kind"> {
	hold: (size: number) => Promise<void> | undefined;
}

export function resourceTable<Body>(kind: ResourceKind, { store, encryption, now, random }: ResourceContext) {
	const { noun, list } = KINDS[kind];

	function opened({ id, name, body, sealed, createdAt }: ResourceRow): Resource<Body> {
		const text = sealed === undefined ? undefined : encryption.decrypt(sealed);
		return { id, name, body: JSON.parse(body), sealed: text?.ok ? text.text : undefined, createdAt };
	}

	const rowOf = ({ name, body, sealed }: Content<Body>) => ({
		kind,
		name,
		body: JSON.stringify(body),
		...(sealed !== undefined && { sealed: encryption.encrypt(sealed) }),
	});

	const notFound = (id: string) => new ApiError("resource_not_found", { kind: noun, id: id.slice(0, 80), list });

	async function get(id: string): Promise<Resource<Body>> {
		const row = await store.resources.find({ kind, id });
		if (!row) throw notFound(id);
		return opened(row);
	}

	async function remove(id: string): Promise<void> {
		if (!(await store.resources.remove({ kind, id }))) throw notFound(id);
	}

	return {
		/** Newest first, without what is secret. */
		list: async () => (await store.resources.list({ kind })).map(opened),
		/** Newest first. */
		named: async (name: string) => (await store.resources.named({ kind, name })).map(opened),

		async page({ hold, after, limit }: PageQuery): Promise<Resource<Body>[]> {
			const q = { kind, after: after && { createdAt: after.createdAt, id: after.id }, limit };
			await hold(await store.resources.size(q));
			return (await store.resources.page(q)).map(opened);
		},

		async find(id: string): Promise<Resource<Body> | undefined> {
			const row = await store.resources.find({ kind, id });
			return row && opened(row);
		},

		/** Throws `resource_not_found`. */
		get,

		/** Throws 400 when there are too many, and `taken` for the name of another one. */
		async create(content: Content<Body>, taken?: ApiError): Promise<Resource<Body>> {
			const createdAt = now();
			const row = { ...rowOf(content), id: hex(random(ID_BYTES)), createdAt, updatedAt: createdAt };
			const result = await store.resources.insert({ row, atMost: MOST });
			if (result === "taken" && taken) throw taken;
			if (result !== "inserted")
				throw badRequest([
					{ field: "", message: `would be ${noun} ${MOST + 1}; at most ${MOST} are kept. Delete some.` },
				]);
			return opened(row);
		},

		/** `change` may run several times: again if the object was changed meanwhile. Throws `resource_not_found`. */
		async update(id: string, change: (before: Resource<Body>) => Content<Body>): Promise<Resource<Body>> {
			for (;;) {
				const row = await store.resources.find({ kind, id });
				if (!row) throw notFound(id);
				const from = row.updatedAt;
				// `sluice migrate --reencrypt` relies on it while servers run.
				const sealed = row.sealed && resealText(row.sealed, encryption);
				const changed = { ...row, sealed, ...rowOf(change(opened(row))), updatedAt: Math.max(now(), from + 1) };
				if (await store.resources.update({ row: changed, from })) return opened(changed);
			}
		},

		/** Throws `resource_not_found`. */
		remove,

		/** Throws 400 while endpoints, `users`, use it. */
		async removeUnused(id: string, users: readonly string[]): Promise<void> {
			const { name } = await get(id);
			const shown = users.slice(0, 5).join(", ");
			const more = users.length > 5 ? ` and ${users.length - 5} more` : "";
			const message = `cannot be deleted: endpoints use it (${shown}${more}). Change or delete these first.`;
			if (users.length > 0) throw badRequest([{ field: `${kind} ${name}`, message }]);
			await remove(id);
		},
	};
}
