/** Calls of OpenAI's `/files`, in which the console uploads, lists and reads files. */
import { ask, askResponse, BASE, search, unreachable } from "../../client/api.ts";
import type { FileObject } from "../../client/shapes.ts";

export interface FilePage {
	data: readonly FileObject[];
	last_id: string | null;
	has_more: boolean;
}

/** A moment of OpenAI's API, in ISO 8601. */
export const moment = (seconds: number): string => new Date(seconds * 1000).toISOString();

const pathOf = (endpoint: string, rest = ""): string => `v2/${encodeURIComponent(endpoint)}/openai/v1/files${rest}`;

const PAGE_ROWS = 50;

export const listFiles = (
	endpoint: string,
	{ after, purpose }: { after?: string | undefined; purpose?: string },
	signal: AbortSignal,
): Promise<FilePage> => ask<FilePage>(pathOf(endpoint, search({ after, purpose, limit: PAGE_ROWS })), { signal });

/** The purpose if nothing else is said: lines are for a batch, other files for the worker. */
const purposeOf = ({ name }: File): string => (name.endsWith(".jsonl") ? "batch" : "user_data");

export async function uploadFile(endpoint: string, file: File, purpose = purposeOf(file)): Promise<FileObject> {
	const form = new FormData();
	form.append("purpose", purpose);
	form.append("file", file);
	return await ask<FileObject>(pathOf(endpoint), { method: "POST", form });
}

export async function removeFile(endpoint: string, id: string): Promise<void> {
	await ask(pathOf(endpoint, `/${id}`), { method: "DELETE" });
}

/** The answer with the content unread. */
export const contentOf = (endpoint: string, id: string, signal?: AbortSignal): Promise<Response> =>
	askResponse(pathOf(endpoint, `/${id}/content`), { signal });

/** Where a file begins. */
export interface FileStart {
	text: string;
	isWhole: boolean;
}

/** Reads a file up to so many bytes. */
export async function startOf(endpoint: string, id: string, bytes: number, signal: AbortSignal): Promise<FileStart> {
	const response = await askResponse(pathOf(endpoint, `/${id}/content`), { first: bytes, signal });
	const content = await response.arrayBuffer().catch(unreachable);
	const size = response.headers.get("Content-Range")?.split("/")[1];
	return {
		text: new TextDecoder().decode(content),
		isWhole: size === undefined || Number(size) <= content.byteLength,
	};
}

/** Runs as it is in a shell. */
export const uploadSnippet = (endpoint: string): string =>
	`export SLUICE_API_KEY=...

curl -s "${BASE}${pathOf(endpoint)}" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -F purpose=user_data -F "file=hello;filename=hello.txt"`;
