/** A chat as code for pasting; the key is read from the environment. */
import { chatPath } from "./chat-format.ts";

interface Place {
	/** Address of the service, without a slash at its end. */
	base: string;
	endpoint: string;
	/** The body of the request. */
	body: Readonly<Record<string, unknown>>;
}

export const CHAT_CODE = [
	{
		id: "curl",
		name: "curl",
		text: ({ base, endpoint, body }: Place): string =>
			`curl -sN "${base}/${chatPath(endpoint, "chat/completions")}" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json(body).replaceAll("'", "'\\''")}'`,
	},
	{
		id: "python",
		name: "Python",
		text: ({ base, endpoint, body }: Place): string => `import json
import os
from openai import OpenAI

client = OpenAI(
    base_url="${base}/${chatPath(endpoint, "").replace(/\/$/, "")}",
    api_key=os.environ["SLUICE_API_KEY"],
)

request = json.loads(r"""${json(body)}""")
for event in client.chat.completions.create(**request):
    if event.choices:
        print(event.choices[0].delta.content or "", end="", flush=True)`,
	},
	{
		id: "javascript",
		name: "JavaScript",
		text: ({ base, endpoint, body }: Place): string => `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${base}/${chatPath(endpoint, "").replace(/\/$/, "")}",
  apiKey: process.env.SLUICE_API_KEY,
});

const stream = await client.chat.completions.create(${json(body)});
for await (const event of stream) process.stdout.write(event.choices[0]?.delta?.content ?? "");`,
	},
] as const;

const json = (body: unknown): string => JSON.stringify(body, null, 2);
