/** The Pod and the Secrets of a worker. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkerSpec } from "../../../kernel/launchers/launcher.ts";
import { podNames, secretName, serverSecretName } from "./names.ts";
import { podOf, secretsOf } from "./objects.ts";
import type { KubernetesSettings } from "../settings.ts";

function spec(settings: Partial<KubernetesSettings> = {}, gpuCount = 0): WorkerSpec<KubernetesSettings> {
	return {
		workerId: "Text_2-0123456789ab",
		endpoint: "Text_2",
		settings: { type: "kubernetes", image: "worker:1", ...settings },
		env: { TOKEN: "secret" },
		serviceId: "0123",
		url: "http://sluice",
		gpus: [],
		gpuCount,
		workersMax: 3,
		stopGraceMs: 4500,
	};
}

const podFor = (of: WorkerSpec<KubernetesSettings>): any => podOf(of, "p");
const containerOf = (pod: any): any => pod.spec.containers[0];

describe("names", () => {
	const id = fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/);
	const VALID = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

	it("D25: of Pods are of DNS, at most 63 characters, as many as workersMax, for each endpoint its own", () => {
		fc.assert(
			fc.property(id, (endpoint) => {
				const names = podNames({ endpoint, serviceId: "s", workersMax: 1000 });
				expect(new Set(names).size).toBe(1000);
				expect(names.at(-1)).toMatch(VALID);
				const others = [
					...podNames({ endpoint: `${endpoint}x`, serviceId: "s", workersMax: 1000 }),
					...podNames({ endpoint, serviceId: "t", workersMax: 1000 }),
				];
				expect(others.filter((name) => names.includes(name))).toEqual([]);
			}),
			{ numRuns: 20 },
		);
		expect(podNames(spec())[2]).toMatch(/^sluice-text-2-[0-9a-f]{12}-2$/);
	});

	it("D25: of Secrets are of DNS, at most 63 characters, and of one worker", () => {
		fc.assert(
			fc.property(id, id, (endpoint, workerId) => {
				const name = secretName({ endpoint, workerId, serviceId: "s" });
				expect(name).toMatch(VALID);
				expect(secretName({ endpoint, workerId: `${workerId}x`, serviceId: "s" })).not.toBe(name);
				expect(secretName({ endpoint, workerId, serviceId: "t" })).not.toBe(name);
				expect(serverSecretName({ endpoint, workerId, serviceId: "s" })).toMatch(
					/^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$/,
				);
			}),
		);
	});
});

describe("podOf", () => {
	it("D25: fits a restricted namespace, without variables, tokens and restarts", () => {
		const pod = podFor(spec());
		expect(pod.metadata.annotations).toEqual({
			"sluice/endpoint-id": "Text_2",
			"sluice/worker-id": "Text_2-0123456789ab",
		});
		for (const value of Object.values(pod.metadata.labels)) expect(value).toMatch(/^[a-z0-9]{1,63}$/);
		expect(pod.spec).toMatchObject({
			restartPolicy: "Never",
			automountServiceAccountToken: false,
			enableServiceLinks: false,
			terminationGracePeriodSeconds: 5,
			securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
		});
		expect(containerOf(pod)).toMatchObject({
			name: "worker",
			image: "worker:1",
			envFrom: [{ secretRef: { name: secretName(spec()) } }],
			securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
		});
		expect(JSON.stringify(pod)).not.toContain('secret"');
	});

	it("D25: GPUs are limits of their resource, with a toleration of their taint", () => {
		const pod = podFor(spec({ gpuResource: "amd.com/gpu", resources: { limits: { memory: "1Gi" } } }, 2));
		expect(containerOf(pod).resources).toEqual({ limits: { memory: "1Gi", "amd.com/gpu": 2 } });
		expect(pod.spec.tolerations).toEqual([{ key: "amd.com/gpu", operator: "Exists" }]);
	});

	it("D44: what its GPUs must be is node affinity, only for a worker with GPUs", () => {
		const gpu = { models: ["NVIDIA L4"] };
		expect(podFor(spec({ gpu })).spec).not.toHaveProperty("affinity");
		expect(podFor(spec({ gpu }, 1)).spec.affinity.nodeAffinity).toEqual({
			requiredDuringSchedulingIgnoredDuringExecution: {
				nodeSelectorTerms: [
					{ matchExpressions: [{ key: "nvidia.com/gpu.product", operator: "In", values: ["NVIDIA-L4"] }] },
				],
			},
		});
	});

	it("D25: volumes are claims or folders of the node; /dev/shm is memory", () => {
		const pod = podFor(spec({ volumes: ["models:/runpod-volume:ro", "/data:/data"], shmSize: "2Gi" }));
		expect(pod.spec.volumes).toEqual([
			{ name: "volume-0", persistentVolumeClaim: { claimName: "models", readOnly: true } },
			{ name: "volume-1", hostPath: { path: "/data" } },
			{ name: "shared-memory", emptyDir: { medium: "Memory", sizeLimit: "2Gi" } },
		]);
		expect(containerOf(pod).volumeMounts).toEqual([
			{ name: "volume-0", mountPath: "/runpod-volume", readOnly: true },
			{ name: "volume-1", mountPath: "/data" },
			{ name: "shared-memory", mountPath: "/dev/shm" },
		]);
	});

	it("D25: a command is passed as it is", () => {
		const command = ["sh", "-c", "echo $(NAME) $$ $HOME"];
		expect(containerOf(podFor(spec({ command }))).args).toEqual(["sh", "-c", "echo $$(NAME) $$$$ $$HOME"]);
	});

	it("D25: the ENTRYPOINT stays without entrypoint, which is passed as it is", () => {
		expect(containerOf(podFor(spec({ command: ["-u"] })))).not.toHaveProperty("command");
		const { command, args } = containerOf(podFor(spec({ entrypoint: ["sh", "$(A)"], command: ["-u"] })));
		expect([command, args]).toEqual([["sh", "$$(A)"], ["-u"]]);
	});

	it("D25: a template changes anything but what the launcher finds its Pods by", () => {
		const pod = podFor(
			spec({
				podTemplate: {
					metadata: { name: "other", labels: { "sluice/worker": "x", team: "a" } },
					spec: {
						restartPolicy: "Always",
						nodeSelector: { gpu: "a100" },
						containers: [
							{ name: "worker", workingDir: "/app" },
							{ name: "side", image: "side:1" },
						],
					},
				},
			}),
		);
		expect(pod.metadata.name).toBe("p");
		expect(pod.metadata.labels).toMatchObject({ team: "a" });
		expect(pod.metadata.labels["sluice/worker"]).not.toBe("x");
		expect(pod.spec).toMatchObject({ restartPolicy: "Never", nodeSelector: { gpu: "a100" } });
		expect(pod.spec.containers).toMatchObject([
			{ name: "worker", image: "worker:1", workingDir: "/app" },
			{ name: "side", image: "side:1" },
		]);
	});
});

it("D25: the Secret belongs to the Pod", () => {
	expect(secretsOf(spec(), { name: "p", uid: "u" })).toMatchObject([
		{
			metadata: {
				name: secretName(spec()),
				ownerReferences: [{ kind: "Pod", name: "p", uid: "u" }],
			},
			stringData: { TOKEN: "secret" },
		},
	]);
});

describe("a worker with an adapter", () => {
	const adapted = (settings: Partial<KubernetesSettings> = {}, gpuCount = 0): WorkerSpec<KubernetesSettings> => ({
		...spec(settings, gpuCount),
		adapter: { mapping: '{"port":8000}', port: 8000 },
	});
	const podWith = (settings: Partial<KubernetesSettings> = {}, gpuCount = 0): any =>
		podOf(adapted(settings, gpuCount), "p", "sluice:1");

	it("D25: has two containers, each fit for a restricted namespace, and the server does not see the adapter", () => {
		const pod = podWith();
		expect(pod.metadata.annotations).toMatchObject({ "sluice/server": "server" });
		expect(pod.spec).toMatchObject({
			automountServiceAccountToken: false,
			restartPolicy: "Never",
			securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
		});
		expect(pod.spec).not.toHaveProperty("shareProcessNamespace");
		expect(pod.spec.containers).toMatchObject([
			{ name: "worker", image: "sluice:1", command: ["sluice-http"] },
			{ name: "server", image: "worker:1" },
		]);
		for (const { securityContext, env } of pod.spec.containers) {
			expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } });
			expect(env).toBeUndefined();
		}
		expect(JSON.stringify(pod)).not.toContain('secret"');
	});

	it("D25: all that the settings say is the server's, with the port in its command", () => {
		const { containers, securityContext } = podWith(
			{
				command: ["--port", "{port}"],
				entrypoint: ["serve:{port}"],
				resources: { limits: { memory: "8Gi" } },
				volumes: ["models:/models"],
				shmSize: "2Gi",
				runAsUser: 0,
				imagePullPolicy: "Always",
			},
			2,
		).spec;
		const [adapter, server] = containers;
		expect(securityContext, "of the adapter").toEqual({
			runAsNonRoot: true,
			seccompProfile: { type: "RuntimeDefault" },
		});
		expect(server).toMatchObject({
			command: ["serve:8000"],
			args: ["--port", "8000"],
			imagePullPolicy: "Always",
			resources: { limits: { memory: "8Gi", "nvidia.com/gpu": 2 } },
			volumeMounts: [{ mountPath: "/models" }, { mountPath: "/dev/shm" }],
			securityContext: { runAsNonRoot: false, runAsUser: 0 },
		});
		expect(adapter).toMatchObject({ imagePullPolicy: "Always", resources: { requests: { memory: "64Mi" } } });
		expect(adapter).not.toHaveProperty("volumeMounts");
		expect(adapter).not.toHaveProperty("args");
		expect(adapter.securityContext).not.toHaveProperty("runAsUser");
	});

	it("D25: a template changes each container by its name", () => {
		const containers = [
			{ name: "server", workingDir: "/app" },
			{ name: "worker", resources: { limits: { memory: "1Gi" } } },
		];
		const [adapter, server] = podWith({ podTemplate: { spec: { containers } } }).spec.containers;
		expect([server.workingDir, server.image]).toEqual(["/app", "worker:1"]);
		expect(adapter.resources).toMatchObject({ requests: { memory: "64Mi" }, limits: { memory: "1Gi" } });
	});

	it("D25: has a Secret for each container, which belong to the Pod", () => {
		const secrets = secretsOf(adapted(), { name: "p", uid: "u" });
		expect(secrets).toMatchObject([
			{ metadata: { name: secretName(spec()), ownerReferences: [{ uid: "u" }] }, stringData: { TOKEN: "secret" } },
			{ metadata: { name: serverSecretName(spec()), ownerReferences: [{ uid: "u" }] }, stringData: { PORT: "8000" } },
		]);
	});
});
