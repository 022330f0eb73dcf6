/** `/v1/keys`: API keys (D30, D39). */
import type { CREATE_KEY, Key, LIST_KEYS, REVOKE_KEY, ROTATE_KEY } from "../../api/keys.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { readKeyRequest, readKeyRotation, type Scope } from "../../core/access/key-request.ts";
import type { KeyView } from "../../engine/access/keys.ts";
import type { Call } from "../exchange/call.ts";
import { readNothing, readObject } from "../exchange/object-body.ts";
import { isoTime } from "../exchange/format.ts";

/** Oldest first. */
export async function list(call: Call): Promise<AnswerOf<typeof LIST_KEYS>> {
	const { keys } = call.engine.access;
	return { keys: (await keys.list()).map(keyView), environment: keys.inEnvironment };
}

/** Only this answer contains the key. */
export async function create(call: Call): Promise<AnswerOf<typeof CREATE_KEY>> {
	const read = readKeyRequest(await readObject(call), call.engine.calendar.now());
	if (!read.ok) throw badRequest(read.faults);
	const { shown, key } = await call.engine.access.keys.create(read.request);
	return { ...keyView(shown), key };
}

/** Only this answer contains the new key. */
export async function rotate(call: Call<"key">): Promise<AnswerOf<typeof ROTATE_KEY>> {
	const read = readKeyRotation(await readObject(call), call.engine.calendar.now());
	if (!read.ok) throw badRequest(read.faults);
	const { shown, key } = await call.engine.access.keys.rotate(call.params.key, read.request);
	return { ...keyView(shown), key };
}

/** The next call with the key is refused. Returns the key as it was. */
export async function revoke(call: Call<"key">): Promise<AnswerOf<typeof REVOKE_KEY>> {
	await readNothing(call);
	const { keys } = call.engine.access;
	const revoked = (await keys.list()).find(({ id }) => id === call.params.key);
	await keys.revoke(call.params.key);
	if (!revoked) throw new ApiError("key_not_found", { key: call.params.key });
	return keyView(revoked);
}

function keyView(key: KeyView): Sendable<Key> {
	const { id, name, scopes, endpoints, createdAt, expiresAt, lastUsedAt } = key;
	return {
		id,
		name,
		scopes: scopes as Scope[],
		endpoints,
		createdAt: isoTime(createdAt),
		expiresAt: isoTime(expiresAt),
		lastUsedAt: isoTime(lastUsedAt),
		lastUsedAddress: key.lastUsedAddress,
	};
}
