/** An API server that runs nothing: containers of its Pods do what a test says. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Pod } from "../../src/modules/kubernetes/pods/pod-status.ts";

type State = NonNullable<NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]["state"]>;

interface Secret {
	metadata: { name: string };
	stringData: Record<string, string>;
}

export type ScriptedCluster = Awaited<ReturnType<typeof scriptedCluster>>;

export async function scriptedCluster() {
	const pods = new Map<string, Pod>();
	const secrets: Secret[] = [];
	/** Graces of deletions in their order, s. */
	const graces: number[] = [];
	const watches = new Set<ServerResponse>();
	/** Lines of the watch. A version is their number. */
	const events: string[] = [];
	/** Open logs, by container. */
	const logs = new Map<string, Set<ServerResponse>>();
	const printed = new Map<string, string[]>();

	function changed(pod: Pod, type: string): void {
		pod.metadata.resourceVersion = String(events.length + 1);
		const line = `${JSON.stringify({ type, object: pod })}\n`;
		events.push(line);
		for (const watch of watches) watch.write(line);
	}

	function remove(pod: Pod): void {
		if (!pods.delete(pod.metadata.name)) return;
		changed(pod, "DELETED");
		for (const each of logs.values()) for (const log of each) log.end();
	}

	function followLog(container: string, response: ServerResponse): void {
		const open = logs.get(container) ?? new Set<ServerResponse>();
		logs.set(container, open.add(response));
		response.once("close", () => open.delete(response));
		response.flushHeaders();
		response.write((printed.get(container) ?? []).join(""));
		if (stateOf(container)?.terminated || pods.size === 0) response.end();
	}

	function stateOf(container: string): State | undefined {
		const [pod] = pods.values();
		return pod?.status?.containerStatuses?.find(({ name }) => name === container)?.state;
	}

	async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { pathname, searchParams } = new URL(request.url ?? "", "http://a");
		const [kind = "", name, part] = pathname.replace(/^\/api\/v1\/namespaces\/[^/]+\//, "").split("/");
		const text = Buffer.concat(await Array.fromAsync(request)).toString();
		const body = text === "" ? {} : JSON.parse(text);
		const answer = (value: object, status = 200): void => {
			response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		};
		if (kind === "secrets") {
			secrets.push(body);
			return answer(body, 201);
		}
		if (kind === "events") return answer({ items: [] });
		if (kind !== "pods") return answer({ message: `no ${pathname}` }, 404);
		if (name === undefined && request.method === "POST") {
			const pod: Pod = { ...body, metadata: { ...body.metadata, uid: `uid-${events.length}` }, status: {} };
			pods.set(pod.metadata.name, pod);
			changed(pod, "ADDED");
			return answer(pod, 201);
		}
		if (searchParams.get("watch") === "true") {
			response.writeHead(200).flushHeaders();
			response.write(events.slice(Number(searchParams.get("resourceVersion"))).join(""));
			return void watches.add(response.once("close", () => watches.delete(response)));
		}
		const list = { metadata: { resourceVersion: String(events.length) }, items: [...pods.values()] };
		if (name === undefined) return answer(list);
		const pod = pods.get(name);
		if (!pod) return answer({ message: `no Pod ${name}` }, 404);
		if (part === "log") return followLog(searchParams.get("container") ?? "", response);
		if (request.method === "DELETE") {
			graces.push(body.gracePeriodSeconds);
			if (body.gracePeriodSeconds === 0) remove(pod);
			else if (pod.metadata.deletionTimestamp === undefined) {
				pod.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
				changed(pod, "MODIFIED");
			}
		}
		answer(pod);
	}

	const server = createServer((request, response) => void handle(request, response));
	await once(server.listen(0, "127.0.0.1"), "listening");
	const folder = mkdtempSync(join(tmpdir(), "sluice-cluster-"));
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const kubeconfig = join(folder, "config");
	const config = {
		"current-context": "one",
		clusters: [{ name: "c", cluster: { server: url } }],
		users: [{ name: "u", user: { token: "t" } }],
		contexts: [{ name: "one", context: { cluster: "c", user: "u", namespace: "jobs" } }],
	};
	writeFileSync(kubeconfig, JSON.stringify(config));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
		rmSync(folder, { recursive: true });
	});

	return {
		url,
		kubeconfig,
		pods,
		secrets,
		graces,
		/** Number of logs that are read now. */
		followed: (): number => [...logs.values()].reduce((sum, open) => sum + open.size, 0),
		/** The only Pod. */
		pod: (): Pod => [...pods.values()][0]!,
		/** Its containers are in these states from now on. A log ends with its container. */
		set(states: Readonly<Record<string, State>>): void {
			const [pod] = pods.values();
			const before = pod!.status?.containerStatuses ?? [];
			const kept = before.filter(({ name }) => !(name in states));
			const news = Object.entries(states).map(([name, state]) => ({ name, state }));
			pod!.status = { ...pod!.status, containerStatuses: [...kept, ...news] };
			pod!.spec!.nodeName = "n1";
			changed(pod!, "MODIFIED");
			for (const [name, { terminated }] of Object.entries(states))
				if (terminated) for (const log of logs.get(name) ?? []) log.end();
		},
		/** Its node has ended what a deletion asked for. */
		remove(): void {
			for (const pod of [...pods.values()]) remove(pod);
		},
		/** A container prints a line; `time`: RFC 3339. */
		print(container: string, time: string, line: string): void {
			const text = `${time} ${line}\n`;
			printed.set(container, [...(printed.get(container) ?? []), text]);
			for (const log of logs.get(container) ?? []) log.write(text);
		},
	};
}
