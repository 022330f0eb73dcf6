/** `/v1/keys`: API keys (D30, D39). */
import { badRequest } from "../../core/errors.ts";
import { readKeyRequest } from "../../core/key-request.ts";
import type { KeyView } from "../../engine/access/keys.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { readNothing, readObject } from "./body.ts";
import { moment } from "./time.ts";

/** GET /v1/keys: `{keys}`, the oldest first; not the one of the environment. */
export async function list(call: Call): Promise<void> {
	json(call.res, JSON.stringify({ keys: (await call.engine.access.keys.list()).map(shown) }));
}

/** POST /v1/keys: makes a key; 201, and `key` this once. */
export async function create(call: Call): Promise<void> {
	const read = readKeyRequest(await readObject(call));
	if (!read.ok) throw badRequest(read.faults);
	const made = await call.engine.access.keys.create(read.request);
	json(call.res, JSON.stringify({ ...shown(made.shown), key: made.key }), [], 201);
}

/** DELETE /v1/keys/{key}: the key's next call is 401; the key as it was. */
export async function revoke(call: Call): Promise<void> {
	await readNothing(call);
	const { keys } = call.engine.access;
	const last = (await keys.list()).find(({ id }) => id === call.params.key);
	await keys.revoke(call.params.key);
	json(call.res, JSON.stringify(last ? shown(last) : {}));
}

function shown({
	id,
	name,
	scopes,
	endpoints,
	createdAt,
	lastUsedAt,
}: KeyView): Record<string, unknown> {
	return {
		id,
		name,
		scopes,
		endpoints,
		createdAt: moment(createdAt),
		lastUsedAt: moment(lastUsedAt),
	};
}
