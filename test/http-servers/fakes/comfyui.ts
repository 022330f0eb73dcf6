/**
 * A server with the API of ComfyUI (server.py): uploads, a queue, the history, and a WebSocket with what happens. It
 * has few nodes, and a picture is bytes that nodes pass on unchanged. It answers as versions do that check `prompt_id`
 * and can interrupt one prompt.
 */
import type { ServerResponse } from "node:http";
import { acceptWebSocket, type TextSocket } from "../../support/websocket-server.ts";
import { httpServer, json, type Received } from "../../support/worker-kit/http-servers.ts";
import { comfyFiles, placeOf } from "./comfyui-files.ts";
import { faultsOf, infoOf } from "./comfyui-nodes.ts";
import { type PromptQueue, promptQueue, type Send } from "./comfyui-queue.ts";

export interface ComfyUi extends Pick<PromptQueue, "release" | "running"> {
	port: number;
	/** The requests, in the order of their ends. */
	readonly received: readonly Received[];
	close(): Promise<void>;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** Memory of PyTorch with models, and without, bytes. */
const [LOADED, FREED] = [9_000_000_000, 33_554_432];

/** `timestamp`: of all messages, ms. */
export async function startComfyUi({ timestamp = 0 } = {}): Promise<ComfyUi> {
	const files = comfyFiles();
	const sockets = new Map<string, TextSocket>();
	const send: Send = (type, data, client) => {
		const text = JSON.stringify({ type, data });
		for (const [id, socket] of sockets) if (client === undefined || client === id) socket.send(text);
	};
	const queue = promptQueue({ files, timestamp, send });
	let submissions = 0;
	let memory = LOADED;
	let isFreeing = false;

	function submit(response: ServerResponse, body: any): void {
		const refuse = (error: object, node_errors: object = {}) => json(response, { error, node_errors }, 400);
		const { prompt: graph, client_id, prompt_id, extra_data = {}, front = false } = body;
		if (graph === undefined) return refuse({ type: "no_prompt", message: "No prompt provided", ...NO_DETAILS });
		if (prompt_id !== undefined && !UUID.test(prompt_id))
			return refuse({ type: "invalid_prompt_id", message: "prompt_id must be a valid UUID", ...NO_DETAILS });
		const { error, nodeErrors, outputs } = faultsOf(graph, files);
		if (error) return refuse(error, nodeErrors);
		submissions += 1;
		memory = LOADED;
		const number = body.number ?? (front ? -submissions : submissions);
		const id = prompt_id ?? `00000000-0000-4000-8000-${String(submissions).padStart(12, "0")}`;
		const extra = client_id === undefined ? extra_data : { ...extra_data, client_id };
		json(response, { prompt_id: id, number, node_errors: nodeErrors });
		queue.submit({ number, id, graph, extra, outputs });
	}

	/** What is to be freed is freed later, by the thread of the queue. */
	function stats(): object {
		const device = { name: "cuda:0", type: "cuda", index: 0, vram_total: 24e9, vram_free: 24e9 - memory };
		const all = { ...device, torch_vram_total: memory, torch_vram_free: 0 };
		if (isFreeing) [memory, isFreeing] = [FREED, false];
		return { system: { os: "posix", comfyui_version: "0.3.62" }, devices: [all] };
	}

	function view(response: ServerResponse, query: URLSearchParams): void {
		const place = placeOf(query);
		const picture = files.get(place);
		if (!picture) return void response.writeHead(404).end();
		const disposition = `filename="${place.filename}"`;
		response.writeHead(200, { "content-type": "image/png", "content-disposition": disposition }).end(picture);
	}

	async function answer({ method, url, headers, body }: Received, response: ServerResponse): Promise<unknown> {
		// Pages of other origins must not reach a server on loopback.
		if (headers.origin !== undefined && new URL(headers.origin).host !== headers.host)
			return response.writeHead(403).end();
		const { pathname, searchParams: query } = new URL(url, "http://server");
		const [, route, id] = /^(?:\/api)?(\/(?:history|object_info)(?=\/)|\/.*)(?:\/(.*))?$/.exec(pathname)!;
		const given: any = body.length > 0 && route !== "/upload/image" ? JSON.parse(body.toString()) : {};
		switch (`${method} ${route}`) {
			case "GET /system_stats":
				return json(response, stats());
			case "GET /object_info":
				return json(response, infoOf(id));
			case "GET /prompt":
				return json(response, queue.info());
			case "POST /prompt":
				return submit(response, given);
			case "GET /queue":
				return json(response, queue.shown());
			case "POST /queue":
				queue.removePending(given);
				return response.end();
			case "GET /history":
				return json(response, queue.history(id, Number(query.get("max_items") ?? Infinity)));
			case "POST /history":
				queue.removeHistory(given);
				return response.end();
			case "POST /interrupt":
				queue.interrupt(given.prompt_id);
				return response.end();
			case "POST /free":
				isFreeing = given.unload_models === true && given.free_memory === true;
				return response.end();
			case "POST /upload/image":
				return json(response, await files.upload(body, headers["content-type"]!));
			case "GET /view":
				return view(response, query);
			default:
				return response.writeHead(404, { "content-type": "text/plain" }).end("404: Not Found");
		}
	}

	const server = await httpServer(
		(request, response) => void answer(request, response),
		0,
		(request, stream) => {
			const sid = new URL(request.url!, "http://server").searchParams.get("clientId") ?? `sid-${sockets.size}`;
			const socket: TextSocket = acceptWebSocket(request, stream, () => {
				if (sockets.get(sid) === socket) sockets.delete(sid);
			});
			sockets.set(sid, socket);
			send("status", { status: queue.info(), sid }, sid);
		},
	);
	return {
		port: server.port,
		received: server.received,
		running: queue.running,
		release: queue.release,
		async close() {
			queue.interrupt(undefined);
			for (const socket of sockets.values()) socket.close();
			await server.close();
		},
	};
}

const NO_DETAILS = { details: "", extra_info: {} };
