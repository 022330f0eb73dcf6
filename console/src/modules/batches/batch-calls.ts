/** Calls of OpenAI's `/batches`, in which the console creates, lists, reads and cancels batches. */
import { ask, BASE, search } from "../../client/api.ts";
import type { BatchObject } from "../../client/shapes.ts";

export interface BatchPage {
	data: readonly BatchObject[];
	last_id: string | null;
	has_more: boolean;
}

export interface NewBatch {
	input_file_id: string;
	endpoint: string;
	completion_window: string;
}

const apiOf = (endpoint: string): string => `v2/${encodeURIComponent(endpoint)}/openai/v1`;
const pathOf = (endpoint: string, rest = ""): string => `${apiOf(endpoint)}/batches${rest}`;
const batchPath = (endpoint: string, id: string): string => pathOf(endpoint, `/${encodeURIComponent(id)}`);

const PAGE_ROWS = 50;

export const listBatches = (endpoint: string, after: string | undefined, signal: AbortSignal): Promise<BatchPage> =>
	ask<BatchPage>(pathOf(endpoint, search({ after, limit: PAGE_ROWS })), { signal });

export const readBatch = (endpoint: string, id: string, signal: AbortSignal): Promise<BatchObject> =>
	ask<BatchObject>(batchPath(endpoint, id), { signal });

export const createBatch = (endpoint: string, batch: NewBatch): Promise<BatchObject> =>
	ask<BatchObject>(pathOf(endpoint), { method: "POST", body: batch });

export const cancelBatch = (endpoint: string, id: string): Promise<BatchObject> =>
	ask<BatchObject>(`${batchPath(endpoint, id)}/cancel`, { method: "POST" });

const OVER: readonly BatchObject["status"][] = ["failed", "completed", "expired", "cancelled"];

/** It changes no more. */
export const isOver = ({ status }: BatchObject): boolean => OVER.includes(status);

/** Requests that have ended. */
export const endedOf = ({ request_counts: { completed, failed } }: BatchObject): number => completed + failed;

const CHAT = "/v1/chat/completions";

/** A line of the input file. */
const lineOf = (id: number, content: string): string =>
	JSON.stringify({
		custom_id: String(id),
		method: "POST",
		url: CHAT,
		body: { model: "MODEL", messages: [{ role: "user", content }] },
	});

/** Runs as it is in a shell. */
export const batchSnippet = (endpoint: string): string =>
	`export SLUICE_API_KEY=...

cat > lines.jsonl <<'END'
${lineOf(1, "Hello")}
${lineOf(2, "Bye")}
END

file=$(curl -s "${BASE}${apiOf(endpoint)}/files" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -F purpose=batch -F "file=@lines.jsonl" | grep -o 'file-[0-9a-f]*')

curl -s "${BASE}${pathOf(endpoint)}" \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"input_file_id": "'$file'", "endpoint": "${CHAT}", "completion_window": "24h"}'`;
