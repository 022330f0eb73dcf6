/**
 * A server with OpenAI's API that knows no job, for an HTTP worker: `node openai-server.ts PORT`. It answers with what
 * it has received, so that tests see what reaches a server.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

type Answer = (response: ServerResponse, body: any) => void | Promise<void>;

const json = (response: ServerResponse, value: unknown): void =>
	void response.setHeader("content-type", "application/json").end(JSON.stringify(value));

const bytes = (response: ServerResponse, type: string, body: string | Uint8Array): void =>
	void response.setHeader("content-type", type).end(body);

function events(response: ServerResponse, values: readonly unknown[], end = ""): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	for (const value of values) response.write(`data: ${JSON.stringify(value)}\n\n`);
	response.end(end);
}

/** What a form has, with the sizes and bytes of its files. */
async function shown(form: FormData): Promise<Record<string, unknown[]>> {
	const values: Record<string, unknown[]> = {};
	for (const [name, value] of form) {
		const { type } = value as File;
		const file = async (given: File): Promise<unknown> => ({
			name: given.name,
			type,
			base64: Buffer.from(await given.arrayBuffer()).toString("base64"),
		});
		(values[name] ??= []).push(typeof value === "string" ? value : await file(value));
	}
	return values;
}

function chat(
	response: ServerResponse,
	{ messages, stream }: { messages: { content: string }[]; stream?: boolean },
): void {
	const words = ["You", " said ", messages.at(-1)!.content];
	const shape = { id: "c1", created: 1, model: "m" };
	if (stream === true)
		return events(
			response,
			words.map((content) => ({
				...shape,
				object: "chat.completion.chunk",
				choices: [{ index: 0, delta: { content }, finish_reason: null }],
			})),
			"data: [DONE]\n\n",
		);
	const message = { role: "assistant", content: words.join("") };
	json(response, { ...shape, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] });
}

async function transcribe(response: ServerResponse, body: FormData): Promise<void> {
	const form = await shown(body);
	const [format] = form["response_format"] ?? [];
	const text = JSON.stringify(form);
	if (form["stream"]?.[0] === "true")
		return events(response, [
			{ type: "transcript.text.delta", delta: text },
			{ type: "transcript.text.done", text },
		]);
	if (format === "text") return bytes(response, "text/plain; charset=utf-8", `${text}\n`);
	if (format === "srt") return bytes(response, "application/x-subrip", `1\n00:00:00,000 --> 00:00:01,000\n${text}\n`);
	if (format === "vtt") return bytes(response, "text/vtt", `WEBVTT\n\n${text}\n`);
	json(response, { text });
}

async function edit(response: ServerResponse, body: FormData): Promise<void> {
	const form = await shown(body);
	const images = [...(form["image"] ?? []), ...(form["image[]"] ?? [])] as { base64: string }[];
	json(response, {
		created: 1,
		data: images.map(({ base64 }) => ({ b64_json: base64, revised_prompt: form["prompt"]![0] })),
	});
}

const ROUTES: Readonly<Record<string, Answer>> = {
	"GET /v1/models": (response) =>
		json(response, { object: "list", data: [{ id: "m", object: "model", created: 1, owned_by: String(process.pid) }] }),
	"POST /v1/chat/completions": chat,
	"POST /v1/embeddings": (response, { input }: { input: string[] }) =>
		json(response, {
			object: "list",
			model: "m",
			data: input.map(({ length }, index) => ({ object: "embedding", index, embedding: [length, 0.5] })),
			usage: { prompt_tokens: 1, total_tokens: 1 },
		}),
	"POST /v1/audio/transcriptions": transcribe,
	"POST /v1/images/edits": edit,
	"POST /v1/audio/speech": (response, { input }: { input: string }) =>
		bytes(response, "audio/mpeg", Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.from(input)])),
};

async function bodyOf(request: IncomingMessage): Promise<unknown> {
	const type = request.headers["content-type"] ?? "";
	const body = new Uint8Array(Buffer.concat(await request.toArray()));
	// The form is read by Node's own parser.
	if (type.startsWith("multipart/")) return await new Response(body, { headers: { "content-type": type } }).formData();
	return body.length === 0 ? undefined : JSON.parse(Buffer.from(body).toString());
}

createServer((request, response) => {
	const answer = ROUTES[`${request.method} ${request.url}`];
	void bodyOf(request).then((body) => {
		if (answer) void answer(response, body);
		else response.writeHead(404).end(`no route ${request.url}`);
	});
}).listen(Number(process.argv[2]), "127.0.0.1");
