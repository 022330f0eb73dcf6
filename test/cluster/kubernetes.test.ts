/**
 * Two servers on one PostgreSQL with one real Kubernetes: the server that scales an endpoint drives
 * its Pods, and another one takes them over when it dies (D28, D34).
 */
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { ended, run, site, type Site, started, WORKER } from "../e2e/site.ts";
import { balancer } from "../support/balancer.ts";
import { IMAGE, makeImage } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import {
	DOCKER,
	LAUNCHER,
	namespace,
	type Namespace,
	noKubernetes,
	ON_NODE,
	podCount,
	titledKubernetes,
} from "../support/kubernetes.ts";
import { kubernetesProxy } from "../support/kubernetes-proxy.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call, type ServiceProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROOT = dirname(dirname(fileURLToPath(new URL(".", import.meta.url))));
const ID = "shared";

describe.skipIf(noKubernetes !== undefined)(titledKubernetes("two servers with one Kubernetes"), () => {
	let group: Servers;
	let pods: Namespace;
	beforeAll(() => makeImage(DOCKER), 60_000);
	beforeEach(async () => {
		group = await servers();
		pods = await namespace(`sluice-${randomBytes(4).toString("hex")}`);
	}, 60_000);
	afterEach(async () => {
		await group?.end();
		await pods?.remove();
	}, 60_000);

	/** Settings of an endpoint with Pods, and what two servers behind one balancer need. */
	async function frontOf(test: TestContext, place: Site, change: object) {
		const ports = [await freePort(), await freePort()] as const;
		const front = await balancer(ports.map((port) => `http://127.0.0.1:${port}`));
		test.onTestFinished(() => front.close());
		const { path } = place.folder;
		const settings = place.launched({
			launcher: {
				type: "kubernetes",
				namespace: pods.name,
				image: IMAGE,
				imagePullPolicy: "Never",
				command: ["/bin/node", WORKER[1]],
				volumes: [`${ROOT}:${ROOT}:ro`, `${path}:${path}`],
				runAsUser: 0,
				podTemplate: ON_NODE,
			},
			scalerType: "REQUEST_COUNT",
			scalerValue: 1,
			...change,
		});
		const env = { KUBECONFIG: LAUNCHER, SLUICE_PUBLIC_URL: front.url };
		return { ports, settings, env };
	}

	async function scales(server: ServiceProcess, id: string): Promise<boolean> {
		const { json } = await call(server.url, "/v1/servers");
		return json.servers.some(
			({ self, leads }: { self: boolean; leads: string[] }) => self && leads.includes(`scale:${id}`),
		);
	}

	it("D34: the leader is killed under load; the other one adopts its Pods, and their jobs go on", {
		timeout: 120_000,
	}, async (test) => {
		const place = site(test);
		const { settings, env, ports } = await frontOf(test, place, {
			workersMax: 3,
			idleTimeout: 1,
		});
		const count = await podCount(pods);
		const started1 = await group.spawn({ endpoints: { [ID]: settings }, port: ports[0], env });
		const started2 = await group.spawn({ endpoints: { [ID]: settings }, port: ports[1], env });
		const both = [started1, started2];
		const leader = await until("one scales the endpoint", async () =>
			(await scales(started1, ID)) ? started1 : (await scales(started2, ID)) && started2,
		);
		const other = both.find((each) => each !== leader)!;

		const long = [];
		for (let n = 0; n < 3; n += 1) long.push(await run(other, ID, { n, until: "go" }));
		for (const id of long) await started(place, id);
		const names = async (): Promise<string[]> => (await pods.pods()).map(({ metadata: { name } }) => name).toSorted();
		const before = await names();
		expect(before).toHaveLength(3);

		await leader.end("SIGKILL");
		const killed = performance.now();
		await until("the other one drives the Pods", () => other.stderr().match(/taken over/g)?.length === 3, 15_000);
		console.log(`Pods taken over ${Math.round(performance.now() - killed)} ms after the kill`);
		const more = [];
		for (let n = 0; n < 3; n += 1) more.push(await run(other, ID, { n }));
		place.allow("go");
		for (const id of [...long, ...more]) {
			const job = await ended(other, ID, id, 60_000);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(id)).toHaveLength(1);
		}
		const { json } = await call(other.url, `/v1/endpoints/${ID}/workers`);
		for (const worker of json.workers) expect(worker.launcher).toBe("kubernetes");
		await until("idle ones are stopped by the other one", async () => (await names()).length === 0, 60_000);
		expect(count.most()).toBe(3);
		count.end();
	});

	it("D28, D34: the leader pauses while it creates a Pod: never more than workersMax, and the next leader's stay", {
		timeout: 120_000,
	}, async (test) => {
		const place = site(test);
		const id = "paused";
		const { settings, env, ports } = await frontOf(test, place, {
			workersMax: 2,
			idleTimeout: 3600,
		});
		const proxy = await kubernetesProxy();
		test.onTestFinished(() => proxy.close());
		const kubeconfig = join(place.folder.path, "kubeconfig");
		proxy.writeKubeconfig(kubeconfig);
		const endpoints = { [id]: settings };
		const leader = await group.spawn({
			endpoints,
			port: ports[0],
			env: { ...env, KUBECONFIG: kubeconfig },
		});
		await until("it scales the endpoint", () => scales(leader, id));
		const other = await group.spawn({ endpoints, port: ports[1], env });
		const count = await podCount(pods);
		const jobs = [await run(other, id, { until: "go" })];
		await started(place, jobs[0]!);

		// A creation is on its way; meanwhile another server starts as many Pods as there may be.
		const held = proxy.holdCreation();
		jobs.push(await run(other, id, { until: "go" }));
		const send = await held;
		leader.child.kill("SIGSTOP");
		const uids = async (): Promise<string[]> => (await pods.pods()).map(({ metadata: { uid } }) => uid).toSorted();
		let before: string[] = [];
		try {
			await until("the other one scales the endpoint", () => scales(other, id));
			await started(place, jobs[1]!);
			before = await uids();
			expect(before).toHaveLength(2);
			expect(await send(), "refused by the API server").toBe(409);
		} finally {
			leader.child.kill("SIGCONT");
		}
		await until("the first one is back", async () => {
			const { json } = await call(leader.url, "/v1/servers");
			return json.servers.length === 2;
		});
		// One more each, after both have seen all Pods.
		place.allow("go");
		for (let n = 0; n < 4; n += 1) jobs.push(await run(leader, id, { n }));
		for (const each of jobs) {
			const job = await ended(other, id, each);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(each)).toHaveLength(1);
		}
		expect(await uids()).toEqual(before);
		expect(count.most()).toBe(2);

		count.end();
	});
});
