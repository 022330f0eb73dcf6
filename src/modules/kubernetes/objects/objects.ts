/** The Pod and the Secret of a worker (D25). */
import { machineEnv } from "../../../kernel/core/workers/worker-env.ts";
import type { WorkerSpec } from "../../../kernel/launchers/launcher.ts";
import { withGpuAffinity } from "./gpu-affinity.ts";
import { isObject, type Json, merged } from "./merge.ts";
import { ANNOTATIONS, annotationsOf, CONTAINER, labelsOf, secretName, shortHash } from "./names.ts";
import { GPU_RESOURCE, type KubernetesSettings } from "../settings.ts";

type Spec = WorkerSpec<KubernetesSettings>;

/** Builds the Pod of a worker. Token and `env` are only in the Secret, since more users may read Pods. */
export function podOf(spec: Spec, name: string): Json {
	const { podTemplate = {}, gpu } = spec.settings;
	const pod = merged({ metadata: {}, spec: podSpec(spec) }, podTemplate);
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

/** Builds the Secret of a worker, which the cluster's garbage collection removes with its Pod. */
export function secretOf(spec: Spec, pod: { name: string; uid: string }): Json {
	const { workerId: worker, gpuCount: gpus } = spec;
	return {
		apiVersion: "v1",
		kind: "Secret",
		type: "Opaque",
		immutable: true,
		metadata: {
			name: secretName(spec),
			labels: labelsOf(spec, shortHash(JSON.stringify(spec.settings))),
			annotations: { [ANNOTATIONS.worker]: spec.workerId },
			ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid }],
		},
		stringData: { ...machineEnv({ worker, gpus, volumes: spec.settings.volumes }), ...spec.env },
	};
}

/** Whether Pods use their node's network and reach a service on its loopback. */
export function usesHostNetwork({ podTemplate }: KubernetesSettings): boolean {
	const template = podTemplate?.["spec"];
	return isObject(template) && template["hostNetwork"] === true;
}

function podSpec(spec: Spec): Json {
	const { settings, stopGraceMs, gpuCount } = spec;
	const { runAsUser, imagePullSecrets, serviceAccount, gpuResource = GPU_RESOURCE } = settings;
	const mounts = [...volumesOf(settings), ...sharedMemory(settings)];
	return {
		automountServiceAccountToken: false,
		enableServiceLinks: false,
		// Without it the worker would be process 1, which reaps no children and ignores signals that it does not handle.
		shareProcessNamespace: true,
		terminationGracePeriodSeconds: Math.max(1, Math.ceil(stopGraceMs / 1000)),
		securityContext: {
			runAsNonRoot: runAsUser !== 0,
			...(runAsUser !== undefined && { runAsUser }),
			seccompProfile: { type: "RuntimeDefault" },
		},
		...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
		...(imagePullSecrets && { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
		...(gpuCount > 0 && { tolerations: [{ key: gpuResource, operator: "Exists" }] }),
		containers: [container(spec, mounts)],
		...(mounts.length > 0 && { volumes: mounts.map(({ volume }) => volume) }),
	};
}

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
		securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
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
