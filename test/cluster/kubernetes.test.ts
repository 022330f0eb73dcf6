/**
 * Two servers on one PostgreSQL with one real Kubernetes: the server that scales an endpoint drives
 * its Pods, and another one takes them over when it dies (D28, D34).
 */
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ended, run, site, started, WORKER } from "../e2e/site.ts";
import { balancer } from "../support/balancer.ts";
import { IMAGE, makeImage } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import {
	DOCKER,
	LAUNCHER,
	namespace,
	noKubernetes,
	ON_NODE,
	podCount,
	titledKubernetes,
} from "../support/kubernetes.ts";
import type { Namespace } from "../support/kubernetes.ts";
import { servers } from "../support/servers.ts";
import type { Servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROOT = dirname(dirname(fileURLToPath(new URL(".", import.meta.url))));
const ID = "shared";

describe.skipIf(noKubernetes !== undefined)(
	titledKubernetes("two servers with one Kubernetes"),
	() => {
		let group: Servers;
		let pods: Namespace;
		beforeAll(async () => {
			await makeImage(DOCKER);
			group = await servers();
			pods = await namespace(`sluice-${randomBytes(4).toString("hex")}`);
		}, 120_000);
		afterAll(async () => {
			await group?.end();
			await pods?.remove();
		}, 60_000);

		it("D34: the leader is killed under load; the other one adopts its Pods, and their jobs go on", {
			timeout: 120_000,
		}, async (test) => {
			const place = site(test);
			const { path } = place.folder;
			const ports = [await freePort(), await freePort()];
			const front = await balancer(ports.map((port) => `http://127.0.0.1:${port}`));
			test.onTestFinished(() => front.close());
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
				workersMax: 3,
				idleTimeout: 1,
			});
			const env = { KUBECONFIG: LAUNCHER, SLUICE_PUBLIC_URL: front.url };
			const count = await podCount(pods);
			const started1 = await group.spawn({ endpoints: { [ID]: settings }, port: ports[0]!, env });
			const started2 = await group.spawn({ endpoints: { [ID]: settings }, port: ports[1]!, env });
			const both = [started1, started2];
			const leader = await until("one scales the endpoint", async () => {
				const { json } = await call(started1.url, "/v1/servers");
				const found = json.servers.find(({ leads }: { leads: string[] }) =>
					leads.includes(`scale:${ID}`),
				);
				return found && both.find(({ url }) => url === found.url);
			});
			const other = both.find((each) => each !== leader)!;

			const long = [];
			for (let n = 0; n < 3; n += 1) long.push(await run(other, ID, { n, until: "go" }));
			for (const id of long) await started(place, id);
			const names = async (): Promise<string[]> =>
				(await pods.pods()).map(({ metadata: { name } }) => name).toSorted();
			const before = await names();
			expect(before).toHaveLength(3);

			await leader.end("SIGKILL");
			const killed = performance.now();
			await until(
				"the other one drives the Pods",
				() => other.stderr().match(/taken over/g)?.length === 3,
				15_000,
			);
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
			await until(
				"idle ones are stopped by the other one",
				async () => (await names()).length === 0,
				60_000,
			);
			expect(count.most()).toBe(3);
			count.end();
		});
	},
);
