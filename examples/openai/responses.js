/** The forms of OpenAI's `/v1/responses`: one object, or its events as text. */

const NONE = { error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true };
const DEFAULTS = { ...NONE, temperature: 1, tool_choice: "auto", tools: [], top_p: 1 };

/** @returns the response with what was generated so far; `end`: why it ended, if it has. */
function objectOf(head, text, { end, usage }) {
	const status = end === undefined ? "in_progress" : end === "length" ? "incomplete" : "completed";
	const { input_tokens, output_tokens } = usage();
	const message = {
		...{ id: `msg_${head.id}`, type: "message", role: "assistant", status },
		content: [{ type: "output_text", text, annotations: [] }],
	};
	return {
		...head,
		object: "response",
		status,
		...DEFAULTS,
		incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
		output: end === undefined ? [] : [message],
		usage:
			end === undefined
				? null
				: {
						...{ input_tokens, input_tokens_details: { cached_tokens: 0 } },
						...{ output_tokens, output_tokens_details: { reasoning_tokens: 0 } },
						total_tokens: input_tokens + output_tokens,
					},
	};
}

/** `pieces`: a generator of texts that returns why it ended. */
export function response(head, pieces, { usage, signal }) {
	let text = "";
	for (let next = pieces.next(); ; next = pieces.next()) {
		signal?.throwIfAborted();
		if (next.done) return objectOf(head, text, { end: next.value, usage });
		text += next.value;
	}
}

/** The same as server-sent events. */
export async function* responseEvents(head, pieces, { usage, signal }) {
	let number = 0;
	const event = (type, members) =>
		`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...members })}\n\n`;
	const place = { item_id: `msg_${head.id}`, output_index: 0, content_index: 0 };
	const begun = objectOf(head, "", { usage });
	yield event("response.created", { response: begun });
	yield event("response.in_progress", { response: begun });
	let text = "";
	for (let next = pieces.next(); ; next = pieces.next()) {
		signal?.throwIfAborted();
		if (next.done) {
			yield event("response.output_text.done", { ...place, text });
			const whole = objectOf(head, text, { end: next.value, usage });
			yield event(`response.${whole.status}`, { response: whole });
			return;
		}
		text += next.value;
		yield event("response.output_text.delta", { ...place, delta: next.value });
	}
}
