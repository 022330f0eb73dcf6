/** A Docker daemon that runs nothing: it answers as a test says, so that it can fail in part. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** Output of `nvidia-smi`. */
const SMI = "2026-01-01T00:00:00.0Z 0, NVIDIA L4, 23034, 0, 0, GPU-1, 550.54.15, [N/A]\n";

/** Body of `POST /containers/create`, as far as tests read it. */
export interface CreatedContainer {
	Image?: string;
	Entrypoint?: string[];
	Cmd?: string[];
	Env?: string[];
	Labels?: Record<string, string>;
	HostConfig?: { Ulimits?: object; NetworkMode?: string };
}

export interface FakeContainer {
	Id: string;
	name: string;
	Labels: Record<string, string>;
	body: CreatedContainer;
	/** Reads the GPUs. */
	isProbe: boolean;
	started: boolean;
	runs: boolean;
	/** Members of its state once it has ended. */
	end: { ExitCode: number; OOMKilled?: boolean };
	ended: PromiseWithResolvers<void>;
}

export interface MachineOptions {
	runtimes?: object;
	/** Whether its daemon refuses to remove the container. */
	isStuck?: (id: string) => boolean;
	/** Why its daemon does not start a container, with limits that are raised or without. */
	startFault?: (raisesLimits: boolean) => string | undefined;
	onCreated?: () => void;
	onStarted?: (container: FakeContainer) => void;
	/** A list is answered when this resolves. */
	beforeList?: () => Promise<unknown>;
	/** Whether its daemon says what a container is. */
	shows?: () => boolean;
	/** Whether the container goes on after a signal. */
	ignores?: (container: FakeContainer, signal: string) => boolean;
	/** Whether it has an image. */
	hasImage?: (name: string) => boolean;
	/** Lines about an import, once its tar was read. */
	imported?: (tar: Buffer) => Promise<string>;
	architecture?: string;
}

export type DockerMachine = Awaited<ReturnType<typeof dockerMachine>>;

export async function dockerMachine(options: MachineOptions = {}) {
	const { runtimes = {}, isStuck, startFault, onCreated, beforeList, shows = () => true } = options;
	const { ignores = () => false, hasImage = () => true, imported = async () => "", architecture } = options;
	const bodies: CreatedContainer[] = [];
	const all = new Map<string, FakeContainer>();
	const removals: string[] = [];
	const signals: string[] = [];
	const calls: string[] = [];
	let made = 0;

	function add(body: CreatedContainer, name?: string): FakeContainer {
		const isProbe = body.Entrypoint?.[0] === "nvidia-smi";
		const Id = `${isProbe ? "probe" : "c"}${(made += 1)}`;
		const state = { started: false, runs: true, end: { ExitCode: 0 }, ended: Promise.withResolvers<void>() };
		const one = { Id, name: name ?? Id, Labels: body.Labels ?? {}, body, isProbe, ...state };
		all.set(Id, one);
		return one;
	}

	/** By id or name. */
	const find = (which: string): FakeContainer | undefined =>
		all.get(which) ?? [...all.values()].find(({ name }) => name === which);

	function end(which: string, how: FakeContainer["end"] = { ExitCode: 0 }): void {
		const one = find(which)!;
		one.runs = false;
		one.end = how;
		one.ended.resolve();
	}

	async function answer(method: string, url: string, content: Buffer, response: ServerResponse): Promise<void> {
		const { pathname: path, searchParams } = new URL(url, "http://any");
		const signal = searchParams.get("signal");
		calls.push(`${method} ${path}${signal === null ? "" : ` ${signal}`}`);
		const json = (status: number, value?: unknown): void =>
			void response.writeHead(status).end(value === undefined ? "" : JSON.stringify(value));
		if (path === "/_ping") return json(200);
		if (path === "/info") return json(200, { Runtimes: runtimes, Architecture: architecture });
		if (path === "/images/json") return json(200, []);
		if (path === "/images/create") return void response.end(await imported(content));
		if (path.startsWith("/images/")) {
			const name = decodeURIComponent(path.split("/")[2]!);
			return hasImage(name) ? json(200, {}) : json(404, { message: "no such image" });
		}
		if (path === "/containers/json") {
			await beforeList?.();
			const [label = ""] = (JSON.parse(searchParams.get("filters")!) as { label: string[] }).label;
			const [name = "", value] = label.split("=");
			const isListed = ({ Labels }: FakeContainer): boolean =>
				name in Labels && (value === undefined || Labels[name] === value);
			return json(200, [...all.values()].filter(isListed));
		}
		if (path === "/containers/create") {
			const body = JSON.parse(content.toString()) as CreatedContainer;
			bodies.push(body);
			const { Id } = add(body, searchParams.get("name") ?? undefined);
			onCreated?.();
			return json(201, { Id });
		}
		const [, which = "", action] = /^\/containers\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
		const found = find(which);
		if (!found) return json(404, { message: "no such container" });
		const id = found.Id;
		if (method === "DELETE") {
			removals.push(id);
			if (isStuck?.(id)) return json(500, { message: "device or resource busy" });
			all.delete(id);
			found.runs = false;
			found.ended.resolve();
			return json(204);
		}
		const fault = action === "start" && startFault?.(bodies.at(-1)?.HostConfig?.Ulimits !== undefined);
		if (fault) return json(500, { message: fault });
		if (action === "start") {
			found.started = true;
			options.onStarted?.(found);
			return json(204);
		}
		if (action === "json" && !shows()) return json(500, { message: "not now" });
		if (action === "kill") {
			if (!found.runs) return json(409, { message: "not running" });
			signals.push(id);
			if (!ignores(found, signal!)) end(id, found.end);
			return json(204);
		}
		if (action === "unpause") return json(500, { message: "not paused" });
		if (action === "top") return found.runs ? json(200, { Processes: [["1", "python"]] }) : json(409);
		if (action === "json")
			return json(200, {
				Id: id,
				State: { Running: found.runs, ...found.end },
				HostConfig: {},
				NetworkSettings: { Networks: { bridge: { IPAddress: "172.17.0.9" } } },
				Config: { Labels: found.Labels, Image: found.body.Image },
			});
		if (action === "logs" && found.isProbe) {
			const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, SMI.length]);
			return void response.end(Buffer.concat([head, Buffer.from(SMI)]));
		}
		if (action === "stats") return json(200, {});
		await found.ended.promise;
		json(200, action === "wait" ? { StatusCode: 0 } : undefined);
	}

	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.once("end", () => void answer(request.method!, request.url!, Buffer.concat(pieces), response));
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return {
		docker: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`,
		/** By id. */
		all,
		add,
		find,
		bodies,
		removals,
		signals,
		/** Method and path of each, and its signal. */
		calls,
		end,
	};
}
