/** What the tests of background responses share: a worker's events, and streams read with the official client. */
import type { OpenAI } from "openai";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";

export const REQUEST = { model: "m", input: "Describe the harbour" } as const;

/** The response that a worker makes, with an id of its own. */
export function workersResponse(text: string, more: object = {}): object {
	return {
		id: "resp_worker",
		object: "response",
		created_at: 1,
		status: "completed",
		model: "m",
		output: [
			{
				id: "msg_1",
				type: "message",
				role: "assistant",
				status: "completed",
				content: [{ type: "output_text", text, annotations: [] }],
			},
		],
		usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
		...more,
	};
}

/** An event as a worker's server sends it. */
export function sse(type: string, members: object = {}): string {
	return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 77, ...members })}\n\n`;
}

/** The events of an answer with these words. */
export function eventsOf(words: readonly string[]): string {
	const running = { ...workersResponse(""), status: "in_progress", output: [] };
	return [
		sse("response.created", { response: running }),
		sse("response.in_progress", { response: running }),
		...words.map((delta) => sse("response.output_text.delta", { item_id: "msg_1", output_index: 0, delta })),
		sse("response.completed", { response: workersResponse(words.join("")) }),
	].join("");
}

export async function created(client: OpenAI, more: object = {}): Promise<Response> {
	return await client.responses.create({ ...REQUEST, background: true, stream: false, ...more });
}

/** A stream whose events are read one by one. */
export async function streamOf(
	client: OpenAI,
	more: object = {},
): Promise<{
	id: string;
	next(): Promise<ResponseStreamEvent | undefined>;
	rest(): Promise<ResponseStreamEvent[]>;
	leave(): void;
}> {
	const stream = await client.responses.create({ ...REQUEST, background: true, ...more, stream: true });
	return await readerOf(stream);
}

type Events = Awaited<ReturnType<typeof resumed>>;

export async function resumed(client: OpenAI, id: string, after?: number) {
	return await client.responses.retrieve(id, {
		stream: true,
		...(after === undefined ? {} : { starting_after: after }),
	});
}

async function readerOf(stream: Events) {
	const events = stream[Symbol.asyncIterator]();
	const next = async (): Promise<ResponseStreamEvent | undefined> => {
		const { value, done } = await events.next();
		return done ? undefined : value;
	};
	const first = (await next()) as ResponseStreamEvent & { response: Response };
	return {
		id: first.response.id,
		next,
		async rest() {
			const all: ResponseStreamEvent[] = [];
			for (let event = await next(); event; event = await next()) all.push(event);
			return all;
		},
		leave: () => stream.controller.abort(),
	};
}

export async function allOf(events: Events): Promise<ResponseStreamEvent[]> {
	const all: ResponseStreamEvent[] = [];
	for await (const event of events) all.push(event);
	return all;
}

export const numbers = (events: readonly ResponseStreamEvent[]): number[] =>
	events.map(({ sequence_number }) => sequence_number);
