/**
 * A real Kubernetes for tests, where there is one: `SLUICE_TEST_KUBERNETES` is a folder with
 * `admin.kubeconfig`, `launcher.kubeconfig` of a user `launcher` without rights, and `docker.sock`
 * of the daemon that runs the containers of its only node, on this machine. Nothing is pulled.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { kubernetesClient, type KubernetesClient } from "../../src/modules/kubernetes/api/client.ts";
import { jsonLines } from "../../src/kernel/launchers/platform-streams.ts";
import { connectionOf } from "../../src/modules/kubernetes/api/credentials.ts";
import { type Pod, workerOf } from "../../src/modules/kubernetes/pods/pod-status.ts";
import { RIGHTS } from "../../src/modules/kubernetes/doctor.ts";
import { dockerAt } from "./docker.ts";

const FOLDER = process.env["SLUICE_TEST_KUBERNETES"];

/** Why tests with Pods cannot run here; undefined where they can. */
export const noKubernetes = FOLDER === undefined ? "SLUICE_TEST_KUBERNETES names no cluster" : undefined;

/** The title of a suite, with the reason why it does not run. */
export function titledKubernetes(title: string): string {
	return noKubernetes === undefined ? title : `${title} (skipped: ${noKubernetes})`;
}

export const ADMIN = join(FOLDER ?? "", "admin.kubeconfig");
export const LAUNCHER = join(FOLDER ?? "", "launcher.kubeconfig");
export const DOCKER = `unix://${join(FOLDER ?? "", "docker.sock")}`;

/** Pods without a network of their own: the cluster has no network plugin. */
export const ON_NODE = { spec: { hostNetwork: true } } as const;

export async function clientOf(kubeconfig: string): Promise<KubernetesClient> {
	return kubernetesClient(await connectionOf({ KUBECONFIG: kubeconfig }, { clock: systemClock }));
}

export interface Namespace {
	name: string;
	admin: KubernetesClient;
	/** Path of one of its objects, or of all of a kind. */
	path(kind: string, name?: string): string;
	pods(): Promise<Pod[]>;
	/** Undefined if there is none. */
	podOf(workerId: string): Promise<Pod | undefined>;
	remove(): Promise<void>;
}

/** A new namespace, in which the user `launcher` has the documented rights. */
export async function namespace(name: string): Promise<Namespace> {
	const admin = await clientOf(ADMIN);
	const path = (kind: string, object?: string): string =>
		`/api/v1/namespaces/${name}/${kind}${object === undefined ? "" : `/${object}`}`;
	await admin.call("POST", "/api/v1/namespaces", { body: { metadata: { name } } });
	const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
	const metadata = { name: "sluice" };
	const rules = RIGHTS.map(({ resource, verbs }) => ({
		apiGroups: [""],
		resources: [resource],
		verbs,
	}));
	await admin.call("POST", `${rbac}/roles`, { body: { metadata, rules } });
	await admin.call("POST", `${rbac}/rolebindings`, {
		body: {
			metadata,
			roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "sluice" },
			subjects: [{ kind: "User", name: "launcher", apiGroup: "rbac.authorization.k8s.io" }],
		},
	});
	const pods = async (): Promise<Pod[]> => (await admin.call<{ items: Pod[] }>("GET", path("pods"))).items;
	return {
		name,
		admin,
		path,
		pods,
		podOf: async (workerId) => (await pods()).find((pod) => workerOf(pod) === workerId),
		async remove() {
			for (const {
				metadata: { name: pod },
			} of await pods())
				await admin.call("DELETE", path("pods", pod), { body: { gracePeriodSeconds: 0 } }).catch(() => {});
			await admin.call("DELETE", `/api/v1/namespaces/${name}`);
			await admin.close();
		},
	};
}

/** The only node has this much of a resource from now on. */
export async function addToNode({ admin }: Namespace, resource: string, quantity: string): Promise<void> {
	interface Node {
		metadata: { name: string };
		status: { capacity: Record<string, string>; allocatable: Record<string, string> };
	}
	const { items } = await admin.call<{ items: Node[] }>("GET", "/api/v1/nodes");
	const { name } = items[0]!.metadata;
	const path = `/api/v1/nodes/${name}`;
	// The kubelet writes the status too: a write between read and write is refused.
	for (let tries = 5; ; tries -= 1) {
		const node = await admin.call<Node>("GET", path);
		node.status.capacity[resource] = node.status.allocatable[resource] = quantity;
		try {
			await admin.call("PUT", `${path}/status`, { body: node });
			return;
		} catch (error) {
			if (tries === 0) throw error;
		}
	}
}

/** How many processes run in a container of a Pod, without the pauses of scripts. */
export async function processesOfPod(uid: string, container: "worker" | "server" = "worker"): Promise<number> {
	const filters = [`label=io.kubernetes.pod.uid=${uid}`, `label=io.kubernetes.container.name=${container}`];
	const ids = await dockerAt(DOCKER, "ps", "-q", ...filters.flatMap((each) => ["--filter", each]));
	let count = 0;
	for (const id of ids.split("\n").filter((each) => each !== "")) {
		const rows = await dockerAt(DOCKER, "top", id, "-eo", "pid,args").catch(() => "");
		const commands = rows
			.split("\n")
			.slice(1)
			.map((row) => row.replace(/^\s*\d+\s+/, ""));
		count += commands.filter((each) => !/^(sleep 0|\/pause)/.test(each)).length;
	}
	return count;
}

/** The address of the cluster's API server. */
export function serverOf(kubeconfig: string): string {
	const { clusters } = parse(readFileSync(kubeconfig, "utf8")) as {
		clusters: { cluster: { server: string } }[];
	};
	return clusters[0]!.cluster.server;
}

/** Most Pods that existed at any moment from now on, as the API server's watch reports it. */
export async function podCount({ admin, path }: Namespace): Promise<{ most(): number; end(): void }> {
	const left = new AbortController();
	const present = new Set<string>();
	let most = 0;
	const stream = await admin.stream(path("pods"), {
		query: { watch: "true" },
		signal: left.signal,
	});
	async function follow(): Promise<void> {
		for await (const { type, object } of jsonLines<{ type: string; object: Pod }>(stream, "the API server")) {
			if (type === "DELETED") present.delete(object.metadata.uid);
			else present.add(object.metadata.uid);
			most = Math.max(most, present.size);
		}
	}
	follow().catch(() => {});
	return { most: () => most, end: () => left.abort() };
}
