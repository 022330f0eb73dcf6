/** What a container starts, as RunPod's management API stores it: one text, or the lists of ENTRYPOINT and CMD. */
import { isObject } from "../../../kernel/lib/schema.ts";

/** An empty list: that of the image. */
export interface ContainerCommand {
	entrypoint: string[];
	cmd: string[];
}

export interface StoredCommand extends ContainerCommand {
	/** The text as it was given. */
	args: string;
}

/** Members of a request: `""` and `[]` clear, absent ones stay. */
export type CommandChange = Partial<StoredCommand>;

const MEMBERS: readonly string[] = ["entrypoint", "cmd"];

/**
 * Words separated by spaces are CMD; there is no shell. JSON, an object, has `entrypoint`, `cmd` or both. `fault`: a
 * sentence about a text that is neither.
 */
export function commandIn(args: string): ContainerCommand | { fault: string } {
	const members = membersIn(args);
	if (members) {
		const lists = Object.entries(members);
		if (!lists.every(([name, list]) => MEMBERS.includes(name) && isTexts(list)))
			return { fault: 'args, as JSON, must have only the lists of texts "entrypoint" and "cmd".' };
		return { entrypoint: [], cmd: [], ...Object.fromEntries(lists) };
	}
	if (/["'\\]/.test(args))
		return { fault: "args must have no quotes and backslashes: give the words as the list cmd, or args as JSON." };
	return { entrypoint: [], cmd: args.split(/[ \t\r\n]+/).filter((word) => word !== "") };
}

/** Returns the text for two lists; `""` if both are the image's. */
export function argsOf({ entrypoint, cmd }: ContainerCommand): string {
	if (entrypoint.length === 0 && cmd.length === 0) return "";
	return JSON.stringify({ ...(entrypoint.length > 0 && { entrypoint }), ...(cmd.length > 0 && { cmd }) });
}

/** `fault`: a sentence about a text without meaning, or one that differs from the lists beside it. */
export function changedCommand(before: StoredCommand, change: CommandChange): StoredCommand | { fault: string } {
	const { args, ...lists } = change;
	if (args === undefined) {
		const after = { ...before, ...lists };
		return isSame(after, before) ? before : { ...after, args: argsOf(after) };
	}
	const meant = commandIn(args);
	if ("fault" in meant) return meant;
	if (isSame({ ...meant, ...lists }, meant)) return { args, ...meant };
	return { fault: "args and the lists cmd and entrypoint must mean the same: leave out args, or both lists." };
}

function membersIn(text: string): object | undefined {
	if (!text.trimStart().startsWith("{")) return undefined;
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isTexts(list: unknown): boolean {
	return Array.isArray(list) && list.every((each) => typeof each === "string");
}

function isSame(a: ContainerCommand, b: ContainerCommand): boolean {
	const text = ({ entrypoint, cmd }: ContainerCommand): string => JSON.stringify([entrypoint, cmd]);
	return text(a) === text(b);
}
