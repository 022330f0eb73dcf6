/** What lines of a batch's files say: the path of its requests, and why some have failed. */
import type { FileStart } from "../files/file-calls.ts";

/** Of a line that is cut off: members of its body that are addresses begin otherwise. */
const PATH = /"url"\s*:\s*"(\/[^"\\]*)"/;

/** The path of the first request; undefined where its line has none. */
export function requestPath({ text }: FileStart): string | undefined {
	const line = text.split("\n").find((each) => each.trim() !== "") ?? "";
	const request = objectIn(line);
	if (!request) return PATH.exec(line)?.[1];
	return typeof request["url"] === "string" ? request["url"] : undefined;
}

export interface ErrorGroup {
	/** The batch's own code, or the status of the worker's answer. */
	code: string;
	/** Of the first request with it. */
	message: string | undefined;
	count: number;
}

/** The requests of an error file by their code, the most frequent first; `read`: how many there are in all. */
export function errorGroups({ text, isWhole }: FileStart): { groups: ErrorGroup[]; read: number } {
	const lines = text.split("\n");
	if (!isWhole) lines.pop();
	const groups = new Map<string, ErrorGroup>();
	let read = 0;
	for (const line of lines) {
		const found = failureIn(line);
		if (!found) continue;
		read += 1;
		const group = groups.get(found.code);
		if (group) group.count += 1;
		else groups.set(found.code, { ...found, count: 1 });
	}
	return { groups: [...groups.values()].toSorted((a, b) => b.count - a.count), read };
}

interface Failed {
	error?: { code?: unknown; message?: unknown } | null;
	response?: { status_code?: unknown; body?: unknown } | null;
}

function failureIn(line: string): { code: string; message: string | undefined } | undefined {
	const failed = objectIn(line) as Failed | undefined;
	const code = failed?.error?.code ?? failed?.response?.status_code;
	if (typeof code !== "string" && typeof code !== "number") return undefined;
	return { code: String(code), message: messageOf(failed?.error) ?? messageIn(failed?.response?.body) };
}

/** An answer has OpenAI's form, or that of another server. */
function messageIn(body: unknown): string | undefined {
	const { error } = (body ?? {}) as { error?: unknown };
	return typeof error === "string" ? error : (messageOf(error) ?? messageOf(body));
}

function messageOf(value: unknown): string | undefined {
	const { message } = (value ?? {}) as { message?: unknown };
	return typeof message === "string" ? message : undefined;
}

function objectIn(line: string): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(line);
		return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
	} catch {
		return undefined;
	}
}
