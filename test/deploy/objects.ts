/** What the tests of `deploy/` share: kubectl, and values with every option of the chart. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type KubernetesObject, objectsIn } from "../../scripts/chart.ts";

/** Runs kubectl and returns its output. */
export async function kubectl(...args: string[]): Promise<string> {
	return (await promisify(execFile)("kubectl", args, { maxBuffer: 16 << 20 })).stdout;
}

/** Whether kubectl, whose Kustomize the tests use, is not installed. */
export const noKubectl: boolean = await kubectl("version", "--client").then(
	() => false,
	() => true,
);

/** The objects of a folder with a kustomization. */
export async function kustomized(folder: string): Promise<KubernetesObject[]> {
	return objectsIn(await kubectl("kustomize", folder));
}

/** Values with everything that is off by default. */
export const EVERYTHING = {
	store: "postgres",
	imagePullSecrets: [{ name: "registry" }],
	publicUrl: "https://jobs.example.com",
	secretPrevious: { existingSecret: "sluice" },
	postgres: { host: "db.example.com" },
	tls: { existingSecret: "certificate" },
	kubernetesLauncher: { namespaces: ["sluice"] },
	serviceAccount: { annotations: { "example.com/role": "sluice" } },
	service: { type: "LoadBalancer", port: 443, annotations: { "example.com/internal": "true" } },
	ingress: {
		enabled: true,
		className: "nginx",
		annotations: { "nginx.ingress.kubernetes.io/proxy-body-size": "0" },
		tls: { existingSecret: "ingress-certificate" },
	},
	networkPolicy: {
		from: [{ namespaceSelector: {} }],
		egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }],
	},
	serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
	autoscaling: { enabled: true },
	podAnnotations: { "example.com/a": "b" },
	podLabels: { team: "vision" },
	nodeSelector: { disk: "ssd" },
	tolerations: [{ key: "a", operator: "Exists" }],
	affinity: { podAntiAffinity: {} },
	priorityClassName: "system-cluster-critical",
	extraEnv: [{ name: "SLUICE_LOG_LEVEL", value: "debug" }],
	extraVolumes: [{ name: "ca", secret: { secretName: "database-ca" } }],
	extraVolumeMounts: [{ name: "ca", mountPath: "/etc/postgres", readOnly: true }],
};
