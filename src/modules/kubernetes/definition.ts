/** Workers as Pods of a Kubernetes cluster, k3s included (D25). */
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { type KubernetesSettings, SETTINGS } from "./settings.ts";

export const KUBERNETES: LauncherDefinition<KubernetesSettings> = {
	type: "kubernetes",
	title: "A Pod on Kubernetes",
	description:
		"Workers are Pods of the cluster that the service runs in, or that KUBECONFIG names; created when " +
		"jobs arrive and deleted when none are left.",
	managed: true,
	shared: true,
	adapts: "container",
	placesGpus: () => true,
	settings: SETTINGS,
	create: async (dependencies) => new (await import("./launcher.ts")).KubernetesLauncher(dependencies),
	doctor: async (endpoints, env) => (await import("./doctor.ts")).findings(endpoints, env),
};
