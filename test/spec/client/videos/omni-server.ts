/**
 * A server with the `/v1/videos` of vLLM-Omni, for an HTTP worker: `node omni-server.ts PORT`. It takes forms only, has
 * its videos in memory, and the content of one is what it has received. The prompt says how it goes: "fail" makes polls
 * answer 500, "forget" loses the first attempt, "hang" never ends.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

interface Video {
	polls: number;
	prompt: string;
	content: string;
}

const videos = new Map<string, Video>();
let hasForgotten = false;

function json(response: ServerResponse, value: unknown, status = 200): void {
	response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const refuse = (response: ServerResponse, status: number, message: string): void =>
	json(response, { error: { message, type: "invalid_request_error", param: null, code: status } }, status);

async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const type = request.headers["content-type"] ?? "";
	const body = new Uint8Array(Buffer.concat(await request.toArray()));
	if (!type.startsWith("multipart/form-data")) return refuse(response, 422, "Field required");
	const form = await new Response(body, { headers: { "content-type": type } }).formData();
	const fields: Record<string, string> = {};
	for (const [name, value] of form)
		fields[name] = typeof value === "string" ? value : `${value.type}:${value.size}:${value.name}`;
	const id = `video_gen_${randomUUID().replaceAll("-", "")}`;
	videos.set(id, { polls: 0, prompt: fields["prompt"] ?? "", content: JSON.stringify(fields) });
	json(response, shown(id, "queued"));
}

const shown = (id: string, status: string) => ({
	...{ id, object: "video", status, progress: status === "completed" ? 100 : 0 },
	...{ model: "wan", created_at: 1, completed_at: null, error: null },
});

function poll(id: string, response: ServerResponse): void {
	const video = videos.get(id)!;
	video.polls += 1;
	if (video.prompt === "forget" && !hasForgotten) {
		hasForgotten = true;
		videos.delete(id);
		return refuse(response, 404, `Video ${id} not found`);
	}
	if (video.prompt === "fail") return refuse(response, 500, "CUDA out of memory");
	json(response, shown(id, video.prompt === "hang" || video.polls < 3 ? "in_progress" : "completed"));
}

function one(method: string | undefined, [id = "", below]: string[], response: ServerResponse): void {
	const video = videos.get(id);
	if (!video) return refuse(response, 404, `Video ${id} not found`);
	if (method === "DELETE") {
		videos.delete(id);
		return json(response, { id, object: "video.deleted", deleted: true });
	}
	if (below !== "content") return poll(id, response);
	response.writeHead(200, { "content-type": "video/mp4" }).end(video.content);
}

createServer((request, response) => {
	const { method, url = "" } = request;
	if (url === "/health") return void response.end();
	if (url === "/v1/models") return json(response, { object: "list", data: [{ id: "wan", object: "model" }] });
	if (method === "POST" && url === "/v1/videos") return void create(request, response);
	if (url.startsWith("/v1/videos/")) return one(method, url.slice("/v1/videos/".length).split("/"), response);
	refuse(response, 404, `no route ${url}`);
}).listen(Number(process.argv[2]), "127.0.0.1");
