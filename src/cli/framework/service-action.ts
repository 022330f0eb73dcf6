import type { Action, ActionInput, Flags, FlagValues } from "./command.ts";
import { confirm, formatOf, OUTPUT_FLAGS, printAnswer, YES_FLAG } from "./common-flags.ts";
import { CliError } from "../client/errors.ts";
import { printable, printableLines } from "../../kernel/lib/terminal-text.ts";
import { type Cell, lineWidth, table } from "./table.ts";

type Base = Omit<Action, "flags" | "run"> & {
	/** Flags besides `--json`. */
	flags?: Flags;
	/** Method and path. `{ID}` stands for the argument of that name. */
	request: string;
	query?: (flags: FlagValues) => URLSearchParams;
};

interface Call<Body> extends Base {
	question?: (input: ActionInput) => string;
	body?: (input: ActionInput) => unknown;
	note?: (answer: Body) => string;
	/** Word for what the answer shows once, such as a key, which `--output name` would lose. */
	shownOnce?: string;
	text: (answer: Body, input: ActionInput) => string;
}

/** Headings, each with a member or a function of an item. */
export type Columns<Item> = Readonly<Record<string, keyof Item | ((item: Item) => Cell)>>;

interface List<Item> extends Base {
	member: string;
	columns: Columns<Item> | ((items: readonly Item[], input: ActionInput) => Columns<Item>);
	/** Line below the table. */
	below?: (answer: Record<string, unknown>) => string | undefined;
	empty:
		| string
		| ((
				input: ActionInput,
				q: { query: URLSearchParams; next: string | null | undefined; answer: Record<string, unknown> },
		  ) => string);
}

export function serviceAction<Body>(call: Call<Body>): Action {
	const { request, query, question, body, note, shownOnce, text, ...action } = call;
	return {
		...action,
		flags: { ...action.flags, ...(question && YES_FLAG), ...OUTPUT_FLAGS },
		async run(input) {
			const format = formatOf(input.flags);
			if (shownOnce !== undefined && format === "name")
				throw new CliError(`-o name would lose the ${shownOnce}, which is shown only once. Use -o json or no -o.`);
			if (question) await confirm(question(input), input);
			const [method, target] = targetOf({ args: action.args, request, query }, input);
			const answer = await input.service.request(method, target, await body?.(input));
			const json = answer.json as Body;
			if (note && format !== "json") process.stderr.write(printableLines(note(json)));
			return printAnswer(answer, input, () => text(json, input));
		},
	};
}

/** The note about the next page goes to stderr, which leaves only the list on stdout. */
export function listAction<Item>(list: List<Item>): Action {
	const { request, query, member, columns, below, empty, ...action } = list;
	return {
		...action,
		flags: { ...action.flags, ...OUTPUT_FLAGS },
		async run(input) {
			const format = formatOf(input.flags);
			const [method, target] = targetOf({ args: action.args, request, query }, input);
			const answer = await input.service.request(method, target);
			const { [member]: items, next } = answer.json as Record<string, Item[]> & { next?: string | null };
			printAnswer(answer, input, () => {
				const shown = typeof columns === "function" ? columns(items!, input) : columns;
				const rows = items!.map((item) => cellsOf(shown, item));
				const width = format === "wide" ? Infinity : lineWidth();
				if (rows.length > 0)
					return table(Object.keys(shown), rows, { width }) + (below?.(answer.json as Record<string, unknown>) ?? "");
				return typeof empty === "string"
					? empty
					: empty(input, { query: query?.(input.flags) ?? NONE, next, answer: answer.json as Record<string, unknown> });
			});
			if (next && format !== "json") process.stderr.write(`There may be more: --cursor ${printable(next)}\n`);
			return 0;
		},
	};
}

const NONE = new URLSearchParams();

export function cellsOf<Item>(columns: Columns<Item>, item: Item): Cell[] {
	return Object.values(columns).map((column) => (typeof column === "function" ? column(item) : (item[column] as Cell)));
}

function targetOf(
	{ args, request, query }: Pick<Base, "args" | "request"> & { query: Base["query"] | undefined },
	input: ActionInput,
): [method: string, target: string] {
	const [method = "", path = ""] = request.split(" ");
	const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
		encodeURIComponent(input.args[args.indexOf(name)] ?? ""),
	);
	const parameters = query?.(input.flags) ?? NONE;
	return [method, parameters.size > 0 ? `${filled}?${parameters.toString()}` : filled];
}
