/** A chat with an endpoint that speaks OpenAI's API: the answer as it arrives. */
import { Failure, askResponse, openaiFailure, unreachable } from "../../client/api.ts";
import { now } from "../../client/clock.ts";
import { reader } from "../../client/event-stream.ts";
import { chatPath, type Completion, type Pace, type Piece, pieceOf } from "./chat-format.ts";
import { T } from "../../text/text.ts";

/** Names of the models that the worker serves. */
export async function modelsOf(endpoint: string): Promise<string[]> {
	const response = await askResponse(chatPath(endpoint, "models"));
	const { data } = (await response.json()) as { data?: readonly { id?: unknown }[] };
	return (data ?? []).flatMap(({ id }) => (typeof id === "string" ? [id] : []));
}

/** Sends the messages; `onPiece` gets the answer piece by piece, `onJob` the id of its job. */
export async function chat({
	endpoint,
	body,
	signal,
	onJob,
	onPiece,
}: {
	endpoint: string;
	body: Record<string, unknown>;
	signal: AbortSignal;
	onJob: (id: string) => void;
	onPiece: (piece: Piece) => void;
}): Promise<Pace> {
	const startedAt = now();
	let firstAt: number | undefined;
	let pieces = 0;
	let counted: number | undefined;
	const onCompletion = (completion: Completion): void => {
		const failure = openaiFailure(completion);
		if (failure) throw new Failure(500, failure);
		const usage = completion.usage?.completion_tokens;
		if (typeof usage === "number") counted = usage;
		const piece = pieceOf(completion);
		if (piece.content === "" && piece.reasoning === "") return;
		firstAt ??= now();
		pieces += 1;
		onPiece(piece);
	};

	const response = await askResponse(chatPath(endpoint, "chat/completions"), {
		method: "POST",
		body,
		signal,
	});
	const job = response.headers.get("x-request-id");
	if (job !== null) onJob(job);
	if (response.headers.get("Content-Type")?.startsWith("text/event-stream") && response.body)
		await readEvents(response.body, onCompletion);
	else onCompletion(completionIn(await response.text().catch(unreachable)));
	return {
		firstMs: firstAt === undefined ? undefined : firstAt - startedAt,
		totalMs: now() - startedAt,
		tokens: counted ?? pieces,
		counted: counted !== undefined,
	};
}

async function readEvents(
	body: ReadableStream<Uint8Array<ArrayBuffer>>,
	onCompletion: (completion: Completion) => void,
): Promise<void> {
	const read = reader(({ data }) => {
		if (data !== "[DONE]") onCompletion(completionIn(data));
	});
	const texts = body.pipeThrough(new TextDecoderStream()).getReader();
	for (let part = await texts.read().catch(unreachable); !part.done; ) {
		read(part.value);
		part = await texts.read().catch(unreachable);
	}
}

function completionIn(text: string): Completion {
	try {
		const value: unknown = JSON.parse(text);
		if (typeof value === "object" && value !== null) return value;
	} catch {
		// Refused below.
	}
	throw new Failure(502, { error: T.chat.unreadable(text.slice(0, 200)), code: "not_openai" });
}
