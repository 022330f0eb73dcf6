/** Secrets that variables of workers name. Read when a worker starts: a new value replaces no worker. */
import { ApiError, badRequest } from "../../../kernel/core/errors.ts";
import { secretNames, unknownSecret, withSecrets } from "./secret-names.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import { ERRORS } from "../errors.ts";
import { type Resource, type ResourceContext, resourceTable } from "./resource-table.ts";

type Variables = Readonly<Record<string, string>>;

interface Body {
	/** Null: none. */
	description: string | null;
	/** Absent: when it was created. */
	valueLastUpdatedAt?: EpochMs;
}

export interface SecretView extends Required<Body> {
	id: string;
	name: string;
	createdAt: EpochMs;
}

export type Secrets = ReturnType<typeof secrets>;

/** No answer has a value. */
export function secrets(d: ResourceContext) {
	const table = resourceTable<Body>("secret", d);

	/** Those that exist and can be read; `unreadable` are the others that exist. */
	async function valuesFor(env: Variables): Promise<{ values: Map<string, string>; unreadable: Set<string> }> {
		const values = new Map<string, string>();
		const unreadable = new Set<string>();
		for (const name of secretNames(env))
			for (const { sealed } of await table.named(name))
				if (sealed === undefined) unreadable.add(name);
				else values.set(name, sealed);
		return { values, unreadable };
	}

	return {
		/** `name`: in any case. */
		async list(name?: string): Promise<SecretView[]> {
			const all = (await table.list()).map(viewOf);
			return name === undefined ? all : all.filter((each) => each.name.toLowerCase() === name.toLowerCase());
		},
		get: async (id: string) => viewOf(await table.get(id)),

		/** Throws `secret_exists`. */
		async create(q: { name: string; value: string; description?: string | null | undefined }): Promise<SecretView> {
			const body = { description: q.description || null };
			const taken = new ApiError(ERRORS.secret_exists, { name: q.name });
			return viewOf(await table.create({ name: q.name, body, sealed: q.value }, taken));
		},

		/** An empty description removes it. */
		async update(id: string, q: { value?: string | undefined; description?: string | undefined }): Promise<SecretView> {
			const isNew = q.value !== undefined && { valueLastUpdatedAt: d.now() };
			const changed = await table.update(id, ({ name, body }) => ({
				name,
				body: { ...body, ...(q.description !== undefined && { description: q.description || null }), ...isNew },
				sealed: q.value,
			}));
			return viewOf(changed);
		},
		remove: table.remove,

		/** Throws 400 for a variable that names a secret which does not exist. */
		async requireKnown(env: Variables): Promise<void> {
			const { values, unreadable } = await valuesFor(env);
			const unknown = unknownSecret(env, new Set([...values.keys(), ...unreadable]));
			if (unknown === undefined) return;
			const { variable, secret } = unknown;
			const message = `names the secret '${secret}', which does not exist. Create it with POST /v2/account/secrets.`;
			throw badRequest([{ field: `env.${variable}`, message }]);
		},

		/**
		 * Variables of a worker that starts, and what its output must not show. Throws an Error with a sentence that names
		 * the secret.
		 */
		async resolve(env: Variables): Promise<{ env: Variables; hidden: Variables }> {
			const { values, unreadable } = await valuesFor(env);
			const unknown = unknownSecret(env, values);
			if (unknown === undefined) return { env: withSecrets(env, values), hidden: hiddenOf(env, values) };
			const { variable, secret } = unknown;
			const why = unreadable.has(secret)
				? "was stored under another SLUICE_SECRET and cannot be read; set it again"
				: "does not exist; set it";
			throw new Error(`the secret '${secret}' of env.${variable} ${why}: sluice secrets set ${secret}`);
		},
	};
}

/** Variables, and the secrets alone, which may be a part of a variable. */
function hiddenOf(env: Variables, values: ReadonlyMap<string, string>): Variables {
	const secrets = [...values].map(([name, value]) => [`RUNPOD_SECRET_${name}`, value]);
	return { ...Object.fromEntries(secrets), ...withSecrets(env, values) };
}

function viewOf({ id, name, createdAt, body }: Resource<Body>): SecretView {
	return { id, name, createdAt, valueLastUpdatedAt: createdAt, ...body };
}
