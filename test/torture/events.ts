/** Server-sent events of a stream, up to the end of the job or of the connection (D7). */
import type { Api } from "./api.ts";
import type { Chunks, Result } from "./history.ts";

export interface EventsRead {
	result: Result;
	status: number | undefined;
	chunks: Chunks;
	/** The job object of the last event. */
	end?: unknown;
}

export async function readEvents(api: Api, url: string): Promise<EventsRead> {
	const { status, text } = await api.open(url, { accept: "text/event-stream" });
	if (status !== 200)
		return {
			result: status !== undefined && status < 500 ? "fail" : "unknown",
			status,
			chunks: [],
		};
	const chunks: Chunks = [];
	let end: unknown;
	// What follows the last blank line was cut off.
	for (const event of text.split("\n\n").slice(0, -1)) {
		const id = /^id: (\d+)$/m.exec(event)?.[1];
		const data = /^data: (.*)$/m.exec(event)?.[1];
		if (id !== undefined && data !== undefined)
			chunks.push([Number(id), (JSON.parse(data) as { output: string }).output]);
		else if (event.startsWith("event: end") && data !== undefined) end = JSON.parse(data);
	}
	return {
		result: end === undefined ? "unknown" : "ok",
		status,
		chunks,
		...(end === undefined ? {} : { end }),
	};
}
