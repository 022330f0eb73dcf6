/**
 * The service on a real cluster as `deploy/` describes it: the API server accepts every object, and
 * Pods of the image keep their jobs on a volume (SQLite) and share a database (PostgreSQL) (D34).
 *
 * The cluster of the tests is Kubernetes 1.20 without a network for Pods. So objects whose API became
 * stable later are sent as its beta, and Pods use the node's network, on ports of their own.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { chartRenderer, type KubernetesObject, noRenderer, OVERLAYS } from "../../scripts/chart.ts";
import { EVERYTHING, kubectl, kustomized, noKubectl } from "../deploy/objects.ts";
import { SERVICE_MONITOR } from "../deploy/service-monitor.ts";
import { dockerAt } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import { ADMIN, DOCKER, noKubernetes } from "../support/kubernetes.ts";
import { postgres } from "../support/postgres.ts";
import { buildServiceImage, copyImages, noServiceImage, SERVICE_IMAGE } from "../support/service-image.ts";
import { call, folder, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { ended, jobAt, run, site } from "./site.ts";

const missing = noKubernetes ?? (noKubectl ? "kubectl is not installed" : undefined);
const NAMESPACE = "sluice";

/** Calls the cluster as its administrator. */
const cluster = (...args: string[]): Promise<string> => kubectl("--kubeconfig", ADMIN, ...args);

/** Calls it in one namespace. */
type Call = (...args: string[]) => Promise<string>;

/** A namespace of the test's own: one that was deleted may take a minute to be removed. */
async function ownNamespace(test: TestContext): Promise<{ namespace: string; inNamespace: Call }> {
	const namespace = `${NAMESPACE}-${randomBytes(4).toString("hex")}`;
	await cluster("create", "namespace", namespace);
	test.onTestFinished(async () => void (await cluster("delete", "namespace", namespace, "--wait=false")));
	return { namespace, inNamespace: (...args) => cluster("-n", namespace, ...args) };
}

/** Sends objects; kubectl also refuses fields that the API does not have. */
async function apply(objects: readonly object[], ...args: string[]): Promise<string> {
	const child = promisify(execFile)("kubectl", ["--kubeconfig", ADMIN, "apply", ...args, "-f", "-"], {
		maxBuffer: 16 << 20,
	});
	const items = objects.map((each) => inBeta(each as KubernetesObject));
	child.child.stdin!.end(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
	return (await child).stdout;
}

const BETA: Record<string, string> = {
	"policy/v1": "policy/v1beta1",
	"autoscaling/v2": "autoscaling/v2beta2",
};

/** The fields that the chart uses are the same there. */
const inBeta = (object: KubernetesObject): KubernetesObject => ({
	...object,
	apiVersion: BETA[object.apiVersion] ?? object.apiVersion,
});

const overlay = (name: keyof typeof OVERLAYS): Promise<KubernetesObject[]> =>
	kustomized(fileURLToPath(new URL(`../../deploy/kustomize/overlays/${name}`, import.meta.url)));

async function secret(inNamespace: Call, texts: Record<string, string>): Promise<void> {
	const literals = Object.entries(texts).map(([name, text]) => `--from-literal=${name}=${text}`);
	await inNamespace("create", "secret", "generic", "sluice", ...literals);
}

/** The objects in this namespace, with a Deployment that the node of the tests can run, at this port. */
function onNode(
	objects: KubernetesObject[],
	{ namespace, port, name = "sluice" }: { namespace: string; port: number; name?: string },
): KubernetesObject[] {
	return objects.map((object) => {
		const made = structuredClone(object);
		made.metadata.namespace = namespace;
		if (object.kind !== "Deployment") return made;
		made.metadata.name = name;
		made.spec.selector.matchLabels.server = name;
		made.spec.template.metadata.labels.server = name;
		made.spec.replicas = 1;
		const { spec } = made.spec.template;
		spec.hostNetwork = true;
		const [container] = spec.containers;
		container.image = SERVICE_IMAGE;
		container.imagePullPolicy = "Never";
		container.ports[0].containerPort = port;
		for (const variable of container.env)
			if (variable.value !== undefined) variable.value = variable.value.replace("8080", `${port}`);
		container.env.push({ name: "SLUICE_PORT", value: `${port}` });
		return made;
	});
}

/** Applies objects and waits for their Deployments. */
async function running(inNamespace: Call, objects: KubernetesObject[]): Promise<void> {
	await apply(objects);
	for (const { kind, metadata } of objects) if (kind === "Deployment") await rolledOut(inNamespace, metadata.name);
}

async function rolledOut(inNamespace: Call, deployment: string): Promise<void> {
	await inNamespace("rollout", "status", `deployment/${deployment}`, "--timeout=120s").catch(async (error: unknown) => {
		const said = await inNamespace("describe", "pods");
		throw new Error(`${deployment} does not become available:\n${said}`, { cause: error });
	});
}

const podsOf = async (inNamespace: Call, deployment: string): Promise<string[]> =>
	(await inNamespace("get", "pods", "-l", `server=${deployment}`, "-o", "name"))
		.split("\n")
		.filter((each) => each !== "");

/** Deletes a Pod; its object is removed once its containers have ended, which the node does up to a minute later. */
async function deletePod(inNamespace: Call, pod: string): Promise<void> {
	await inNamespace("delete", pod, "--wait=false");
	const filters = [
		`label=io.kubernetes.pod.name=${pod.replace("pod/", "")}`,
		"label=io.kubernetes.container.name=sluice",
	];
	const containers = ["ps", "--quiet", ...filters.flatMap((each) => ["--filter", each])];
	await until("its container has ended", async () => (await dockerAt(DOCKER, ...containers)) === "");
	await inNamespace("delete", pod, "--force", "--grace-period=0", "--ignore-not-found");
}

const EXTERNAL = { id: "kept", launcher: { type: "external" } };

describe.skipIf(missing !== undefined)(
	missing === undefined ? "deploy/ on a cluster" : `deploy/ on a cluster (skipped: ${missing})`,
	() => {
		beforeAll(async () => {
			// Only dry runs use it, which need that it exists.
			await cluster("create", "namespace", NAMESPACE).catch(() => {});
		}, 120_000);

		it.for(Object.keys(OVERLAYS) as (keyof typeof OVERLAYS)[])(
			"the API server accepts every object of the overlay %s",
			async (name) => {
				const objects = await overlay(name);
				const said = await apply(objects, "--dry-run=server");
				expect(said.match(/\(server dry run\)/g)).toHaveLength(objects.length);
			},
		);

		it.skipIf(noRenderer !== undefined)(
			"the API server accepts every object of the chart, all options included",
			{ timeout: 180_000 },
			async (test) => {
				const renderer = chartRenderer();
				test.onTestFinished(() => renderer.remove());
				await apply([SERVICE_MONITOR]);
				test.onTestFinished(async () => {
					await cluster("delete", "crd", SERVICE_MONITOR.metadata.name);
				});
				const established = `crd/${SERVICE_MONITOR.metadata.name}`;
				await cluster("wait", "--for=condition=Established", established, "--timeout=30s");
				for (const values of [{}, OVERLAYS.postgres, EVERYTHING]) {
					const objects = await renderer.objects(values);
					const said = await apply(objects, "--dry-run=server");
					expect(said.match(/\(server dry run\)/g)).toHaveLength(objects.length);
				}
				const [bad] = await renderer
					.objects({ resources: { limits: { memory: "much" } } })
					.then((objects) => objects.filter(({ kind }) => kind === "Deployment"));
				await expect(apply([bad!], "--dry-run=server")).rejects.toThrow(/quantities/);
			},
		);
	},
);

const noRun = missing ?? noServiceImage;

describe.skipIf(noRun !== undefined)(
	noRun === undefined ? "the image on a cluster" : `the image on a cluster (skipped: ${noRun})`,
	{ concurrent: true },
	() => {
		beforeAll(async () => {
			await buildServiceImage();
			await copyImages(DOCKER, SERVICE_IMAGE);
		}, 900_000);
		it("D34: with SQLite, a Pod that is deleted is replaced and the jobs are still there", {
			timeout: 240_000,
		}, async (test) => {
			const port = await freePort();
			const place = site(test);
			const { namespace, inNamespace } = await ownNamespace(test);
			const data = folder();
			test.onTestFinished(() => data.remove());
			chmodSync(data.path, 0o700);
			const volume = `sluice-${randomBytes(4).toString("hex")}`;
			await apply([volumeAt(data.path, volume, namespace)]);
			test.onTestFinished(async () => {
				await cluster("delete", "pv", volume, "--wait=false");
			});
			await secret(inNamespace, { "api-key": KEY, secret: randomBytes(32).toString("hex") });
			await running(inNamespace, onNode(await overlay("sqlite"), { namespace, port }));

			const service = { url: `http://127.0.0.1:${port}` };
			expect((await call(service.url, "/v1/endpoints", { body: EXTERNAL })).status).toBe(201);
			const done = await run(service, "kept", { n: 1 });
			const worker = await place.attach(service, "kept");
			expect(await ended(service, "kept", done)).toMatchObject({ status: "COMPLETED" });
			const exited = once(worker, "exit");
			worker.kill();
			await exited;
			// Its open poll would be given the job: when this is answered, the service has seen it closed.
			await call(service.url, "/v2/kept/health");
			const waiting = await run(service, "kept", { n: 2 });

			const [before = ""] = await podsOf(inNamespace, "sluice");
			await deletePod(inNamespace, before);
			await until("another Pod takes its place", async () => {
				const after = await podsOf(inNamespace, "sluice");
				return after.length === 1 && after[0] !== before;
			});
			await rolledOut(inNamespace, "sluice");
			expect(await inNamespace("logs", "deployment/sluice")).not.toContain('"level":"warn"');
			expect(await jobAt(service, "kept", done)).toMatchObject({ status: "COMPLETED" });
			expect(await jobAt(service, "kept", waiting)).toMatchObject({ status: "IN_QUEUE" });
			await place.attach(service, "kept");
			expect(await ended(service, "kept", waiting)).toMatchObject({ status: "COMPLETED" });
		});

		it("D34: with PostgreSQL, two Pods share the jobs, and one goes on without the other", {
			timeout: 240_000,
		}, async (test) => {
			const ports = [await freePort(), await freePort()];
			const place = site(test);
			const { namespace, inNamespace } = await ownNamespace(test);
			const database = await (await postgres()).createDatabase();
			test.onTestFinished(() => database.drop());
			await secret(inNamespace, {
				"api-key": KEY,
				secret: randomBytes(32).toString("hex"),
				"database-url": database.url,
				"database-password": new URL(database.url).password,
			});
			const objects = onNode(await overlay("postgres"), { namespace, port: ports[0]!, name: "sluice-0" });
			const other = await second({ namespace, port: ports[1]!, name: "sluice-1" }, database.url);
			await running(inNamespace, [...objects, ...other]);

			const [first, last] = ports.map((port) => ({ url: `http://127.0.0.1:${port}` }));
			expect((await call(first!.url, "/v1/endpoints", { body: EXTERNAL })).status).toBe(201);
			const job = await run(first!, "kept", { n: 1 });
			await until("the other server knows the endpoint", async () => {
				return (await call(last!.url, "/v1/endpoints/kept")).status === 200;
			});
			await place.attach(last!, "kept");
			expect(await ended(first!, "kept", job)).toMatchObject({ status: "COMPLETED" });
			const servers = (await call(first!.url, "/v1/servers")).json.servers;
			expect(servers).toHaveLength(2);

			await inNamespace("delete", "deployment", "sluice-0");
			await until("its server is missing", async () => {
				return (await call(last!.url, "/v1/servers")).json.servers.length === 1;
			});
			const later = await run(last!, "kept", { n: 2 });
			expect(await ended(last!, "kept", later)).toMatchObject({ status: "COMPLETED" });
			expect(await jobAt(last!, "kept", job)).toMatchObject({ status: "COMPLETED" });
		});
	},
);

/** The second server: of the chart with the parts of the address, where it can be rendered. */
async function second(
	at: { namespace: string; port: number; name: string },
	address: string,
): Promise<KubernetesObject[]> {
	if (noRenderer !== undefined) return onNode(await overlay("postgres"), at).filter(isPod);
	const { hostname, port: databasePort, pathname, username } = new URL(address);
	const renderer = chartRenderer();
	try {
		const parts = {
			host: hostname,
			port: Number(databasePort),
			database: pathname.slice(1),
			user: username,
			options: "",
		};
		const objects = await renderer.objects({ ...OVERLAYS.postgres, postgres: parts });
		return onNode(objects, at).filter(isPod);
	} finally {
		renderer.remove();
	}
}

/** What makes its Pod. */
const isPod = ({ kind }: KubernetesObject): boolean => /^(Deployment|ConfigMap)$/.test(kind);

/** A volume in a folder of the node, for the claim of the overlay. */
const volumeAt = (path: string, name: string, namespace: string): object => ({
	apiVersion: "v1",
	kind: "PersistentVolume",
	metadata: { name },
	spec: {
		capacity: { storage: "10Gi" },
		accessModes: ["ReadWriteOnce"],
		persistentVolumeReclaimPolicy: "Retain",
		claimRef: { namespace, name: "sluice" },
		local: { path },
		nodeAffinity: {
			required: {
				nodeSelectorTerms: [
					{
						matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["localhost"] }],
					},
				],
			},
		},
	},
});
