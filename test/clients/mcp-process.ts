/** RunPod's MCP server from npm, unmodified, as a process that has no address but a service's. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { KEY } from "../support/service.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("@runpod/mcp-server"));

/** Closed: nothing leaves the machine. */
const CLOSED = "http://127.0.0.1:9";

export interface McpServer {
	/** The result of a method of MCP. */
	ask(method: string, params: object): Promise<any>;
	/** Calls a tool: the JSON of its text where it is some, and whether it is an error. */
	call(name: string, q: object): Promise<{ failed: boolean; json: any; text: string }>;
	end(): void;
}

export async function mcpServer(url: string): Promise<McpServer> {
	const server = spawn(process.execPath, [PROGRAM], {
		env: {
			RUNPOD_API_KEY: KEY,
			RUNPOD_SERVERLESS_API_URL: `${url}/v2`,
			RUNPOD_API_BASE_URL: url,
			RUNPOD_AUTHED_GRAPHQL_URL: CLOSED,
			RUNPOD_PUBLIC_GRAPHQL_URL: CLOSED,
		},
		stdio: ["pipe", "pipe", "ignore"],
	});
	/** Requests without an answer, by id. */
	const asked = new Map<number, (answer: any) => void>();
	let lastId = 0;
	const send = (message: object): boolean => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

	async function ask(method: string, params: object): Promise<any> {
		lastId += 1;
		send({ id: lastId, method, params });
		const { result, error } = await new Promise<any>((resolve) => asked.set(lastId, resolve));
		return result ?? { isError: true, content: [{ text: JSON.stringify(error) }] };
	}

	createInterface({ input: server.stdout }).on("line", (line) => {
		const answer = JSON.parse(line);
		asked.get(answer.id)?.(answer);
		asked.delete(answer.id);
	});
	await ask("initialize", {
		protocolVersion: "2025-06-18",
		capabilities: {},
		clientInfo: { name: "test", version: "1" },
	});
	send({ method: "notifications/initialized" });
	return {
		ask,
		async call(name, q) {
			const result = await ask("tools/call", { name, arguments: q });
			const text: string = result.content[0].text;
			return { failed: result.isError ?? false, json: parsed(text), text };
		},
		end: () => server.kill(),
	};
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
