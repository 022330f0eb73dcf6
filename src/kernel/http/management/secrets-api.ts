/** Secrets of the management API (D49). No answer has a value. */
import {
	CHANGE_SECRET,
	CREATE_SECRET,
	type GET_SECRET,
	type LIST_SECRETS,
	NAME_FILTER,
	type Secret,
} from "../../api/management/secrets.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { SecretView } from "../../engine/management/secrets.ts";
import { type Call, query } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { readChange, readManaged } from "./exchange.ts";

interface Given {
	name: string;
	value: string;
	description: string;
}

export async function list(call: Call): Promise<AnswerOf<typeof LIST_SECRETS>> {
	const name = query(call).get(NAME_FILTER.name) ?? undefined;
	return { secrets: (await call.engine.resources.secrets.list(name)).map((each) => secretJson(call, each)) };
}

export async function create(call: Call): Promise<AnswerOf<typeof CREATE_SECRET>> {
	const body = (await readManaged(call, CREATE_SECRET.body.schema)) as unknown as Given;
	return secretJson(call, await call.engine.resources.secrets.create(body));
}

export async function get(call: Call<"secret">): Promise<AnswerOf<typeof GET_SECRET>> {
	return secretJson(call, await call.engine.resources.secrets.get(call.params.secret));
}

export async function change(call: Call<"secret">): Promise<AnswerOf<typeof CHANGE_SECRET>> {
	const body = await readChange<Omit<Given, "name">>(call, CHANGE_SECRET.body.schema);
	return secretJson(call, await call.engine.resources.secrets.update(call.params.secret, body));
}

export async function remove({ engine, params }: Call<"secret">): Promise<void> {
	await engine.resources.secrets.remove(params.secret);
}

function secretJson({ engine }: Call, { createdAt, valueLastUpdatedAt, ...secret }: SecretView): Secret {
	return {
		...secret,
		createdAt: isoJobTime(engine, createdAt),
		valueLastUpdatedAt: isoJobTime(engine, valueLastUpdatedAt),
	};
}
