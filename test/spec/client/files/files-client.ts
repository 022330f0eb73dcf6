/** What the tests of files share: the official client, and forms as they are sent. */
import OpenAI from "openai";
import { KEY, type TestService } from "../../../support/service.ts";

/** It repeats nothing. */
export function clientOf({ url }: Pick<TestService, "url">, endpoint: string, apiKey = KEY): OpenAI {
	return new OpenAI({ baseURL: `${url}/v2/${endpoint}/openai/v1`, apiKey, maxRetries: 0 });
}

export async function contentOf(client: OpenAI, id: string): Promise<Buffer> {
	return Buffer.from(await (await client.files.content(id)).arrayBuffer());
}

/** Sends a form with these fields, in their order. */
export async function sendForm(
	{ url }: Pick<TestService, "url">,
	fields: readonly (readonly [name: string, value: string | File])[],
	{ endpoint = "ep", key = KEY }: { endpoint?: string; key?: string } = {},
): Promise<{ status: number; json: any }> {
	const form = new FormData();
	for (const [name, value] of fields) form.append(name, value);
	const headers = { authorization: `Bearer ${key}` };
	const answer = await fetch(`${url}/v2/${endpoint}/openai/v1/files`, { method: "POST", headers, body: form });
	return { status: answer.status, json: await answer.json() };
}
