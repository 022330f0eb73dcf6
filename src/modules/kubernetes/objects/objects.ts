/** The Pod and the Secrets of a worker (D25). With an adapter the Pod has two containers (decision 0062). */
import { machineEnv } from "../../../kernel/core/workers/worker-env.ts";
import { adapterEnv, serverEnv, serverPort, serverSettings } from "../../../kernel/launchers/adapter-container.ts";
import { ADAPTER_COMMAND, type WorkerSpec } from "../../../kernel/launchers/launcher.ts";
import { withGpuAffinity } from "./gpu-affinity.ts";
import { isObject, type Json, merged } from "./merge.ts";
import {
	ANNOTATIONS,
	annotationsOf,
	CONTAINER,
	labelsOf,
	secretName,
	SERVER,
	serverSecretName,
	shortHash,
} from "./names.ts";
import { GPU_RESOURCE, type KubernetesSettings } from "../settings.ts";

type Spec = WorkerSpec<KubernetesSettings>;

/** Memory and processor time that nodes reserve for an adapter. */
const ADAPTER_REQUESTS = { cpu: "50m", memory: "64Mi" };

/**
 * Builds the Pod of a worker. Token and `env` are only in Secrets, since more users may read Pods. `adapterImage`: of
 * a worker with an adapter. Throws an Error for a mapping whose server cannot be in another container.
 */
export function podOf(spec: Spec, name: string, adapterImage?: string): Json {
	const { podTemplate = {}, gpu } = spec.settings;
	const pod = merged({ metadata: {}, spec: podSpec(spec, adapterImage) }, podTemplate);
	const metadata = isObject(pod["metadata"]) ? pod["metadata"] : {};
	const labels = labelsOf(spec, shortHash(JSON.stringify(spec.settings)));
	return {
		...pod,
		apiVersion: "v1",
		kind: "Pod",
		metadata: {
			...merged(metadata, { labels, annotations: annotationsOf(spec) }),
			name,
		},
		spec: {
			...(gpu && spec.gpuCount > 0 ? withGpuAffinity(pod["spec"] as Json, gpu) : (pod["spec"] as Json)),
			restartPolicy: "Never",
		},
	};
}

/**
 * Builds the Secrets of a worker, one for each of its containers, which the cluster's garbage collection removes with
 * its Pod. That of a server has nothing that gives access to the service.
 */
export function secretsOf(spec: Spec, pod: { name: string; uid: string }): Json[] {
	const { workerId: worker, gpuCount: gpus, env, adapter } = spec;
	const ofMachine = machineEnv({ worker, gpus, volumes: spec.settings.volumes });
	const secret = (name: string, stringData: Record<string, string>): Json => ({
		apiVersion: "v1",
		kind: "Secret",
		type: "Opaque",
		immutable: true,
		metadata: {
			name,
			labels: labelsOf(spec, shortHash(JSON.stringify(spec.settings))),
			annotations: { [ANNOTATIONS.worker]: spec.workerId },
			ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid }],
		},
		stringData,
	});
	if (!adapter) return [secret(secretName(spec), { ...ofMachine, ...env })];
	const port = serverPort(adapter);
	const ofAdapter = adapterEnv(env, adapter, `http://127.0.0.1:${port}`);
	return [
		secret(secretName(spec), { ...machineEnv({ worker, gpus: 0 }), ...ofAdapter }),
		secret(serverSecretName(spec), { ...ofMachine, ...serverEnv(env, port) }),
	];
}

/** Whether Pods use their node's network and reach a service on its loopback. */
export function usesHostNetwork({ podTemplate }: KubernetesSettings): boolean {
	const template = podTemplate?.["spec"];
	return isObject(template) && template["hostNetwork"] === true;
}

function podSpec(spec: Spec, adapterImage?: string): Json {
	const { settings, stopGraceMs, gpuCount, adapter } = spec;
	const { imagePullSecrets, serviceAccount, gpuResource = GPU_RESOURCE } = settings;
	const mounts = [...volumesOf(settings), ...sharedMemory(settings)];
	const containers = adapter
		? [adapterContainer(spec, adapterImage), serverContainer(spec, serverPort(adapter), mounts)]
		: [container(spec, mounts)];
	return {
		automountServiceAccountToken: false,
		enableServiceLinks: false,
		// Without it the worker would be process 1, which reaps no children and ignores signals that it does not handle.
		// A server would read the token of its adapter from /proc.
		...(!adapter && { shareProcessNamespace: true }),
		terminationGracePeriodSeconds: Math.max(1, Math.ceil(stopGraceMs / 1000)),
		securityContext: {
			// The user of an endpoint with an adapter is that of its server.
			...(adapter ? { runAsNonRoot: true } : userOf(settings)),
			seccompProfile: { type: "RuntimeDefault" },
		},
		...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
		...(imagePullSecrets && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
		...(gpuCount > 0 && { tolerations: [{ key: gpuResource, operator: "Exists" }] }),
		containers,
		...(mounts.length > 0 && { volumes: mounts.map(({ volume }) => volume) }),
	};
}

function userOf({ runAsUser }: KubernetesSettings): Json {
	return { runAsNonRoot: runAsUser !== 0, ...(runAsUser !== undefined && { runAsUser }) };
}

/** Has the Secret of the worker, and so its name. */
function adapterContainer(spec: Spec, image: string | undefined): Json {
	const { imagePullPolicy } = spec.settings;
	return {
		name: CONTAINER,
		image,
		command: [ADAPTER_COMMAND],
		...(imagePullPolicy && { imagePullPolicy }),
		envFrom: [{ secretRef: { name: secretName(spec) } }],
		resources: { requests: { ...ADAPTER_REQUESTS } },
		securityContext: RESTRICTED,
	};
}

function serverContainer(spec: Spec, port: number, mounts: readonly Mount[]): Json {
	const settings = serverSettings(spec.settings, port);
	return {
		...container({ ...spec, settings }, mounts),
		name: SERVER,
		envFrom: [{ secretRef: { name: serverSecretName(spec) } }],
		securityContext: { ...RESTRICTED, ...userOf(settings) },
	};
}

const RESTRICTED: Json = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

function container(spec: Spec, mounts: readonly Mount[]): Json {
	const { settings, gpuCount } = spec;
	const { image, command, entrypoint, imagePullPolicy, gpuResource = GPU_RESOURCE } = settings;
	const { requests, limits } = settings.resources ?? {};
	return {
		name: CONTAINER,
		image,
		...(entrypoint && { command: entrypoint.map(literal) }),
		...(command && { args: command.map(literal) }),
		...(imagePullPolicy && { imagePullPolicy }),
		envFrom: [{ secretRef: { name: secretName(spec) } }],
		resources: {
			...(requests && { requests: { ...requests } }),
			...((limits || gpuCount > 0) && {
				limits: { ...limits, ...(gpuCount > 0 && { [gpuResource]: gpuCount }) },
			}),
		},
		securityContext: RESTRICTED,
		...(mounts.length > 0 && { volumeMounts: mounts.map(({ mount }) => mount) }),
	};
}

/** Kubernetes replaces `$(NAME)` by a variable, and `$$` by a dollar sign. */
function literal(text: string): string {
	return text.replaceAll("$", () => "$$");
}

interface Mount {
	volume: Json;
	mount: Json;
}

function volumesOf({ volumes = [] }: KubernetesSettings): Mount[] {
	return volumes.map((text, index) => {
		const [source = "", mountPath = "", mode] = text.split(":");
		const name = `volume-${index}`;
		const readOnly = mode === "ro";
		return {
			volume: source.startsWith("/")
				? { name, hostPath: { path: source } }
				: { name, persistentVolumeClaim: { claimName: source, ...(readOnly && { readOnly }) } },
			mount: { name, mountPath, ...(readOnly && { readOnly }) },
		};
	});
}

function sharedMemory({ shmSize }: KubernetesSettings): Mount[] {
	if (shmSize === undefined) return [];
	const name = "shared-memory";
	return [
		{
			volume: { name, emptyDir: { medium: "Memory", sizeLimit: shmSize } },
			mount: { name, mountPath: "/dev/shm" },
		},
	];
}
