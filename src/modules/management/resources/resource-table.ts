/** Objects of one kind of the management API, as its rules see them. */
import { type ApiError, badRequest } from "../../../kernel/core/errors.ts";
import { nounOf, type ResourceKind, resourceNotFound } from "../../../kernel/core/endpoints/used-resources.ts";
import { hex } from "../../../kernel/lib/ids.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import type { Encryption } from "../../../kernel/secrets/encryption.ts";
import type { ResourcePage, ResourceRow } from "../../../kernel/store/contract/endpoints.ts";
import type { EngineContext } from "../../../kernel/engine/context.ts";
import { resealText } from "../../../kernel/engine/endpoints/sealed-settings.ts";

/** Maximum number of each kind. */
const MOST = 1000;

const ID_BYTES = 5;

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
	const noun = nounOf(kind);

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

	async function get(id: string): Promise<Resource<Body>> {
		const row = await store.resources.find({ kind, id });
		if (!row) throw resourceNotFound({ kind, id });
		return opened(row);
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
				if (!row) throw resourceNotFound({ kind, id });
				const from = row.updatedAt;
				// `sluice migrate --reencrypt` relies on it while servers run.
				const sealed = row.sealed && resealText(row.sealed, encryption);
				const changed = { ...row, sealed, ...rowOf(change(opened(row))), updatedAt: Math.max(now(), from + 1) };
				if (await store.resources.update({ row: changed, from })) return opened(changed);
			}
		},

		/** Throws `resource_not_found`, and 400 while endpoints use it. */
		async remove(id: string): Promise<void> {
			const { name } = await get(id);
			const result = await store.resources.remove({ kind, id });
			if (result === "missing") throw resourceNotFound({ kind, id });
			if (result === "removed") return;
			const { users } = result;
			const shown = users.slice(0, 5).join(", ");
			const more = users.length > 5 ? ` and ${users.length - 5} more` : "";
			const message = `cannot be deleted: endpoints use it (${shown}${more}). Change or delete these first.`;
			throw badRequest([{ field: `${kind} ${name}`, message }]);
		},
	};
}
