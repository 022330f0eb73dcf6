/** `docs/reference/events.md`: the events of the kernel and of modules, from the docstrings of their tables. */
import { existsSync, readFileSync } from "node:fs";
import { MODULES } from "../../src/modules/index.ts";
import { code, type Page, plain, table, withoutMarks } from "./markdown.ts";

export const events: Page = {
	file: "events.md",
	title: "Events",
	about: "what the service reports to its log, its metrics and other listeners",
	body() {
		return [
			"The log, the metrics and tests subscribe to these. The log, on stderr, has a line for those of its level, " +
				"`info` unless configured. No event contains an input, an output or a secret.",
			table(
				["Event", "Level", "When", "Facts"],
				eventTables()
					.flatMap(eventsIn)
					.map(({ name, level, docstring, facts }) => [
						code(name),
						level,
						plain(withoutMarks(docstring)),
						facts.map(code).join(", "),
					]),
			),
		].join("\n\n");
	},
};

/** Source texts with a table `EVENTS`. */
export function eventTables(): string[] {
	const paths = ["kernel/event-table.ts", ...MODULES.map(({ name }) => `modules/${name}/events.ts`)];
	return paths
		.map((path) => new URL(`../../src/${path}`, import.meta.url))
		.filter((url) => existsSync(url))
		.map((url) => readFileSync(url, "utf8"));
}

/**
 * The members of the table `EVENTS` with their docstrings; one without shares the one before it.
 */
export function eventsIn(text: string): { name: string; level: string; docstring: string; facts: string[] }[] {
	const block = /export const EVENTS = \{\n(.*?)\n\};\n/s.exec(text)?.[1];
	if (block === undefined) throw new Error("A table of events has no EVENTS.");
	const found: ReturnType<typeof eventsIn> = [];
	let docstring = "";
	const pattern = /\/\*\*(.*?)\*\/|^\s+"?([\w.]+)"?: ([a-z]+)(?:<\{(.*?)\}>)?\(/gms;
	for (const [, comment, name, level = "", facts = ""] of block.matchAll(pattern)) {
		if (name === undefined) docstring = comment!.replace(/\s*\n\s*\*\s?/g, " ").trim();
		else
			found.push({
				name,
				level,
				docstring,
				facts: [...facts.matchAll(/(\w+)\??:/g)].map((match) => match[1]!),
			});
	}
	return found;
}
