/** Registry logins of the management API (D49). */
import { CREATE_LOGIN, type GET_LOGIN, type LIST_LOGINS } from "../../api/management/registries.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { LoginView } from "../../engine/management/logins.ts";
import type { Call } from "../exchange/call.ts";
import { readManaged } from "./exchange.ts";

type Created = LoginView & { username: string; password: string };

export async function list({ engine }: Call): Promise<AnswerOf<typeof LIST_LOGINS>> {
	return { registries: (await engine.resources.logins.list()).map(loginJson) };
}

export async function create(call: Call): Promise<AnswerOf<typeof CREATE_LOGIN>> {
	const body = (await readManaged(call, CREATE_LOGIN.body.schema)) as unknown as Created;
	return loginJson(await call.engine.resources.logins.create(body));
}

export async function get({ engine, params }: Call<"login">): Promise<AnswerOf<typeof GET_LOGIN>> {
	return loginJson(await engine.resources.logins.get(params.login));
}

export async function remove({ engine, params }: Call<"login">): Promise<void> {
	await engine.resources.logins.remove(params.login);
}

function loginJson({ id, name }: LoginView) {
	return { id, name };
}
