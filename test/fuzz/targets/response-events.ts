/** What is made of a worker's text for background responses (D58): numbered events, and members that are replaced. */
import fc from "fast-check";
import { stringOf } from "../../../src/kernel/lib/json/json-text.ts";
import { eventLog, type LogEvent } from "../../../src/modules/openai/background/event-log.ts";
import { pageOf } from "../../../src/modules/openai/background/input-items.ts";
import {
	atOnce,
	blocksOf,
	edited,
	membersOf,
	removal,
	withMembers,
} from "../../../src/modules/openai/background/members.ts";
import { jsonText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const SHOWN = { id: "resp_x", createdAt: 1, store: false, stream: true, repeated: '"model":null' };
const NAMES = ["webhook", "store", "type", "response"] as const;

function parsed(text: string): { value: any } | undefined {
	try {
		return { value: JSON.parse(text) };
	} catch {
		return undefined;
	}
}

/** The events of these outputs, of which each is a chunk. */
function eventsOf(outputs: readonly string[]): LogEvent[] {
	const log = eventLog(SHOWN);
	return [...log.opening(), ...outputs.flatMap((output, at) => [...log.chunk(at, output)]), ...log.rest()];
}

const words = fc.constantFrom(
	...["data: ", "data", "event: x", "\n", "\r\n", "\r", "\n\n", ": c", "é", "[DONE]", '{"type":"a","n":1.0}'],
	...['{"type":"response.completed","response":{"id":"w"}}', '{"object":"response"}', '{"error":{"message":"m"}}'],
);

export const RESPONSE_EVENTS = target({
	name: "response-events",
	sources: ["modules/openai/background/events.ts", "modules/openai/background/event-log.ts"],
	cases: fc.record({
		text: fc.array(words, { maxLength: 12 }).map((parts) => parts.join("")),
		cuts: fc.array(fc.nat(200), { maxLength: 5 }),
		values: fc.array(jsonText, { maxLength: 3 }),
	}),
	check({ text, cuts, values }) {
		const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length];
		const pieces = at.slice(1).map((end, index) => JSON.stringify(text.slice(at[index], end)));
		same("cut anywhere", eventsOf(pieces), eventsOf([JSON.stringify(text)]));
		const others = values.map((each) => each.toWellFormed().trim()).filter((each) => parsed(each));
		for (const [index, { number, data }] of eventsOf([...pieces, ...others]).entries()) {
			same("number", [number, JSON.parse(data).sequence_number], [index, index]);
			must(!/[\r\n]/.test(data), data);
		}
	},
});

export const JSON_MEMBERS = target({
	name: "json-members",
	sources: ["modules/openai/background/members.ts", "modules/openai/background/input-items.ts"],
	cases: fc.oneof(
		jsonText,
		fc
			.array(fc.tuple(fc.constantFrom(...NAMES, "a"), jsonText))
			.map((members) => `{${members.map(([name, value]) => `"${name}" : ${value}`).join(" ,")}}`),
	),
	check(any) {
		const text = any.toWellFormed();
		const found = parsed(text);
		const blocks = blocksOf(text);
		const members = atOnce(membersOf(blocks, NAMES));
		const isObject = typeof found?.value === "object" && found.value !== null && !Array.isArray(found.value);
		must((members !== undefined) === isObject, text);
		if (found) {
			const page = atOnce(pageOf(Buffer.from(text.trim()), "resp_x", { after: undefined, limit: 100, order: "asc" }));
			for (const { text: item } of page?.items ?? []) must(parsed(item) !== undefined, item);
		}
		if (!members) return;
		const after = JSON.parse(stringOf(withMembers(blocks, members, { store: "7" })));
		// One that is added is the first.
		same("set", after, { ...(members.store ? {} : { store: 7 }), ...found!.value, store: 7 });
		for (const [name, value] of Object.entries(members)) {
			const without = parsed(stringOf(edited(blocks, [removal(blocks, value!)])));
			must(without !== undefined, `without ${name}`);
		}
	},
});
