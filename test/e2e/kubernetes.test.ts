/**
 * A service whose workers are Pods of a real cluster: they come and go with the work, outlive the
 * service, and are never doubled or left behind (D18, D25, D28, D29, D34).
 */
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { IMAGE, makeImage, TAKES_ALL_MEMORY } from "../support/docker.ts";
import {
	DOCKER,
	LAUNCHER,
	addToNode,
	namespace,
	type Namespace,
	noKubernetes,
	ON_NODE,
	podCount,
	processesOfPod,
	serverOf,
	titledKubernetes,
} from "../support/kubernetes.ts";
import { call, type ServiceProcess } from "../support/service.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until, within } from "../support/until.ts";
import { upgrade, UPGRADED } from "./upgrade.ts";
import { canaryRelease, COMPARED, CRASHES, crashedRelease, RELEASED } from "./crashed-release.ts";
import { ended, jobAt, run, site, type Site, started, WIRE_WORKER, WORKER } from "./site.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const ID = "e2e";

interface Place extends Site {
	pods: Namespace;
	/** An endpoint whose diary workers are Pods. */
	endpoint(settings?: object, launcher?: object): Record<string, object>;
	begin(endpoints: Record<string, object>, kubeconfig?: string): Promise<ServiceProcess>;
	names(): Promise<string[]>;
}

async function clusterSite(test: TestContext): Promise<Place> {
	const place = site(test);
	const pods = await namespace(`sluice-${randomBytes(4).toString("hex")}`);
	test.onTestFinished(() => pods.remove());
	const { path } = place.folder;
	return {
		...place,
		pods,
		endpoint: (settings = {}, launcher = {}) => ({
			[ID]: place.launched({
				launcher: {
					type: "kubernetes",
					namespace: pods.name,
					image: IMAGE,
					imagePullPolicy: "Never",
					command: ["/bin/node", WORKER[1]],
					volumes: [`${ROOT}:${ROOT}:ro`, `${path}:${path}`],
					runAsUser: 0,
					podTemplate: ON_NODE,
					...launcher,
				},
				...settings,
			}),
		}),
		begin: (endpoints, kubeconfig = LAUNCHER) => place.serve({ endpoints, env: { KUBECONFIG: kubeconfig } }),
		names: async () => (await pods.pods()).map(({ metadata: { name } }) => name),
	};
}

const BURST = { scalerType: "REQUEST_COUNT", scalerValue: 1, workersMax: 3, idleTimeout: 1 };

const TITLE = titledKubernetes("a service with Pods as workers");

describe.skipIf(noKubernetes !== undefined)(TITLE, { concurrent: true }, () => {
	beforeAll(() => makeImage(DOCKER), 60_000);

	it("D27, D28: 0 to 3 to 0 workers, never more Pods than workersMax", {
		timeout: 60_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const count = await podCount(place.pods);
		const service = await place.begin(place.endpoint(BURST));
		expect(await place.names()).toEqual([]);
		const jobs = [];
		for (let n = 0; n < 9; n += 1) jobs.push(await run(service, ID, { n, until: n < 3 ? "go" : "" }));
		await until("three runs at once", () => place.notes().filter(({ what }) => what === "run").length === 3);
		place.allow("go");
		for (const id of jobs) expect(await ended(service, ID, id)).toMatchObject({ status: "COMPLETED" });
		await until("no Pod is left", async () => (await place.names()).length === 0);
		expect(count.most()).toBe(3);
		count.end();
	});

	it("D25: a worker with RunPod's wire completes a job, with all that it yields", {
		timeout: 60_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const command = ["/bin/node", WIRE_WORKER[1]];
		const service = await place.begin(place.endpoint({}, { command }));
		const { json } = await call(service.url, `/v2/${ID}/run`, { body: { input: { chunks: 3 } } });
		const output = [{ n: 0 }, { n: 1 }, { n: 2 }];
		expect(await ended(service, ID, json.id)).toMatchObject({ status: "COMPLETED", output });
	});

	it("D50: a release whose Pods crash is undone, and the worker before it does all jobs", {
		timeout: 90_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const service = await place.begin(place.endpoint(RELEASED));
		await crashedRelease(place, { service, endpoint: ID, launcher: { command: CRASHES } });
		await until("no other Pod to be left", async () => (await place.names()).length === 1, 60_000);
	});

	it("D50: a canary of whose jobs half fail is undone, and every job ends once", {
		timeout: 120_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const service = await place.begin(place.endpoint(COMPARED));
		await canaryRelease(place, { service, endpoint: ID });
	});

	it("D18: cancel of a job that blocks ends its Pod", {
		timeout: 60_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const service = await place.begin(place.endpoint({ stopGraceMs: 1000 }));
		const id = await run(service, ID, { block: 60_000 });
		const { worker } = await started(place, id);
		const [pod] = await place.pods.pods();
		await until("its node reports it", async () =>
			(await place.pods.pods()).every(({ status }) => status?.phase === "Running"),
		);
		const began = performance.now();
		await call(service.url, `/v2/${ID}/cancel/${id}`, { method: "POST" });
		await until("its processes have ended", async () => (await processesOfPod(pod!.metadata.uid)) === 0);
		// Kubelets give at least 2 s between SIGTERM and SIGKILL.
		console.log(`cancel to end: ${Math.round(performance.now() - began)} ms, grace 1000 ms`);
		await until("the worker is forgotten", async () => {
			const { json } = await call(service.url, `/v1/endpoints/${ID}/workers`);
			return json.workers.every((each: { id: string }) => each.id !== worker);
		});
	});

	it("D34: a service killed under load adopts its Pods, loses nothing, leaves no stray", {
		concurrent: false,
		timeout: 90_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const count = await podCount(place.pods);
		const endpoints = place.endpoint({ ...BURST, idleTimeout: 3600 });
		let service = await place.begin(endpoints);
		const jobs = [];
		for (let n = 0; n < 9; n += 1) jobs.push(await run(service, ID, { n, ms: 1500 }));
		await until("three runs", () => place.notes().filter(({ what }) => what === "run").length === 3);
		const before = await place.names();
		await service.end("SIGKILL");
		service = await place.begin(endpoints);
		for (const id of jobs) {
			const job = await ended(service, ID, id);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(id)).toHaveLength(1);
		}
		expect(await place.names()).toEqual(before);
		expect(service.stderr().match(/taken over/g)).toHaveLength(3);
		expect(count.most()).toBe(3);
		expect(await within("the stop", service.end())).toBe(0);
		await until("no Pod is left", async () => (await place.names()).length === 0);
		count.end();
	});

	it("D34: SIGTERM under load leaves Pods and their jobs, which the next start takes over", {
		concurrent: false,
		timeout: 90_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const endpoints = place.endpoint(UPGRADED);
		const service = await place.begin(endpoints);
		const next = await upgrade(place, { endpoint: ID, service, begin: () => place.begin(endpoints) });
		expect(await within("the stop", next.end())).toBe(0);
		await until("no Pod is left", async () => (await place.names()).length === 0);
	});

	it("D29: the API server does not answer for 10 s: running jobs go on, none is started twice, an idle one works", {
		timeout: 120_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const count = await podCount(place.pods);
		const { hostname, port } = new URL(serverOf(LAUNCHER));
		const proxy = await tcpProxy(Number(port));
		test.onTestFinished(() => proxy.close());
		const kubeconfig = join(place.folder.path, "kubeconfig");
		writeFileSync(
			kubeconfig,
			readFileSync(LAUNCHER, "utf8").replaceAll(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`),
		);
		const service = await place.begin(place.endpoint({ ...BURST, workersMax: 2 }), kubeconfig);
		const first = await run(service, ID, { until: "go" });
		const { worker } = await started(place, first);
		proxy.refuse();
		proxy.cut();
		const outage = sleep(10_000);
		const second = await run(service, ID, { n: 2 });
		await until("a start fails", async () => {
			const { reason } = (await call(service.url, `/v1/endpoints/${ID}`)).json;
			return reason?.code === "start_failed" && /does not answer/.test(reason.message);
		});
		await outage;
		expect(place.runs(first)).toHaveLength(1);
		place.allow("go");
		expect(await ended(service, ID, first)).toMatchObject({ status: "COMPLETED" });
		expect(await ended(service, ID, second)).toMatchObject({ status: "COMPLETED" });
		expect(await jobAt(service, ID, first)).not.toHaveProperty("retries");

		await until("the idle worker is to be stopped", () => / is stopped: idle /.test(service.stderr()), 60_000);
		const third = await run(service, ID, { until: "returned" });
		expect((await started(place, third)).worker).toBe(worker);
		const fourth = await run(service, ID, { n: 4 });
		await until("its worker is not started", async () => {
			const { reason } = (await call(service.url, `/v1/endpoints/${ID}`)).json;
			return reason?.code === "start_failed" && reason.retryAt !== undefined;
		});
		expect(count.most()).toBe(1);
		await proxy.pass();
		await until("the next worker is started", async () => (await place.names()).length === 2, 5000);
		place.allow("returned");
		for (const id of [third, fourth]) expect(await ended(service, ID, id)).toMatchObject({ status: "COMPLETED" });
		await until("idle workers are stopped", async () => (await place.names()).length === 0, 60_000);
		count.end();
	});

	it.for<[string, string, object, object, RegExp]>([
		["image_pull", "a missing image", { image: "no-such-image:1" }, {}, /no-such-image:1/],
		["crashed", "a crash loop", { command: ["/bin/sh", "-c", "exit 3"] }, {}, /exit code 3/],
		[
			"out_of_memory",
			"too little memory",
			{
				command: ["sh", "-c", `sleep 1; ${TAKES_ALL_MEMORY}`],
				resources: { limits: { memory: "64Mi" } },
			},
			{},
			/64Mi/,
		],
		[
			"unschedulable",
			"no GPU",
			{ gpuResource: "example.com/gpu" },
			{ gpusPerWorker: 2 },
			/Insufficient example.com\/gpu/,
		],
	])(
		"D29: %s is the reason within 15 s for %s",
		{ timeout: 60_000 },
		async ([code, , launcher, settings, says], test) => {
			const place = await clusterSite(test);
			const service = await place.begin(place.endpoint(settings, launcher));
			const id = await run(service, ID, {});
			const began = performance.now();
			const reason = await until("the reason", async () => {
				const found = (await call(service.url, `/v1/endpoints/${ID}`)).json.reason;
				return found?.code === code && found;
			});
			expect(reason.message).toMatch(says);
			// A worker that took the place of the one that failed may be starting at this moment.
			await until("the reason of the job", async () =>
				says.test((await call(service.url, `/v1/endpoints/${ID}/jobs/${id}`)).json.reason.message),
			);
			expect(performance.now() - began).toBeLessThan(15_000);
			console.log(`${code} after ${Math.round(performance.now() - began)} ms: ${reason.message}`);
		},
	);

	it("D28: an idle Pod ends at once for a job of another endpoint whose Pod finds no GPU", {
		timeout: 90_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const gpuResource = `room.example.com/${place.pods.name}`;
		await addToNode(place.pods, gpuResource, "1");
		const settings = { gpusPerWorker: 1, idleTimeout: 600 };
		const { [ID]: endpoint } = place.endpoint(settings, { gpuResource });
		const service = await place.begin({ first: endpoint!, second: endpoint! });
		await ended(service, "first", await run(service, "first", {}), 40_000);
		const began = performance.now();
		await ended(service, "second", await run(service, "second", {}), 60_000);
		console.log(`kubernetes: another endpoint's job ended ${Math.round(performance.now() - began)} ms after it came`);
		// The cluster may give the GPU on before it shows the end of the Pod that had it.
		const ofFirst = async () => (await call(service.url, "/v1/endpoints/first/workers")).json.workers;
		for (const { state } of await ofFirst()) expect(state).toBe("stopping");
		await until("the idle worker has ended", async () => (await ofFirst()).length === 0);
	});

	it("D29: a namespace that refuses the Pod: the reason is the API server's own sentence, not a missing right", {
		timeout: 60_000,
	}, async (test) => {
		const place = await clusterSite(test);
		const limits = [{ type: "Container", max: { memory: "32Mi" } }];
		await place.pods.admin.call("POST", place.pods.path("limitranges"), {
			body: { metadata: { name: "small" }, spec: { limits } },
		});
		const template = {
			spec: { ...ON_NODE.spec, containers: [{ name: "worker", resources: { limits: { memory: "64Mi" } } }] },
		};
		const service = await place.begin(place.endpoint({}, { podTemplate: template }));
		await run(service, ID, {});
		const reason = await until("the reason", async () => {
			const found = (await call(service.url, `/v1/endpoints/${ID}`)).json.reason;
			return found?.code === "start_failed" && found;
		});
		expect(reason.message).toMatch(/is forbidden: maximum memory usage per Container is 32Mi, but limit is 64Mi/);
		expect(reason.message).not.toMatch(/rights are missing/);
	});
});
