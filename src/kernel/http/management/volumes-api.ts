/** Network volumes of the management API (D49). */
import { CHANGE_VOLUME, CREATE_VOLUME, type GET_VOLUME, type LIST_VOLUMES } from "../../api/management/volumes.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { withDefaults } from "../../lib/schema.ts";
import type { Volume } from "../../engine/management/volumes.ts";
import type { Call } from "../exchange/call.ts";
import { readChange, readManaged } from "./exchange.ts";

export async function list({ engine }: Call): Promise<AnswerOf<typeof LIST_VOLUMES>> {
	return { networkVolumes: (await engine.resources.volumes.list()).map(volumeJson) };
}

export async function create(call: Call): Promise<AnswerOf<typeof CREATE_VOLUME>> {
	const { schema } = CREATE_VOLUME.body;
	const body = withDefaults(schema, await readManaged(call, schema)) as Omit<Volume, "id" | "createdAt" | "source">;
	return volumeJson(await call.engine.resources.volumes.create(body));
}

export async function get({ engine, params }: Call<"volume">): Promise<AnswerOf<typeof GET_VOLUME>> {
	return volumeJson(await engine.resources.volumes.get(params.volume));
}

export async function change(call: Call<"volume">): Promise<AnswerOf<typeof CHANGE_VOLUME>> {
	const body = await readChange<Pick<Volume, "name" | "size">>(call, CHANGE_VOLUME.body.schema);
	return volumeJson(await call.engine.resources.volumes.update(call.params.volume, body));
}

export async function remove({ engine, params }: Call<"volume">): Promise<void> {
	await engine.resources.volumes.remove(params.volume);
}

function volumeJson({ createdAt: _createdAt, ...volume }: Volume) {
	return volume;
}
