/** Workers as Docker containers (D25). */
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { type HostConfig, HOSTS_SCHEMA } from "./hosts/host-schema.ts";
import { readHosts } from "./hosts/host-settings.ts";
import { type DockerSettings, SETTINGS } from "./settings.ts";

export const DOCKER: LauncherDefinition<DockerSettings> = {
	type: "docker",
	title: "A container",
	description:
		"Workers are containers of the Docker daemon that DOCKER_HOST names, by default that of this machine, " +
		"or of the hosts of the configuration; started when jobs arrive and stopped when none are left.",
	managed: true,
	sharesGpus: true,
	adapts: "container",
	isOnHostNetwork: ({ network }) => network === "host",
	canSleep: ({ hosts }) => hosts === undefined,
	placesGpus: ({ hosts }) => hosts !== undefined,
	settings: SETTINGS,
	keepsWorkers: ["pullPolicy", "prePull", "registry"],
	// Hosts of the configuration are shown and checked before an endpoint uses them.
	atStart: ({ fromFile }) => Object.keys(hostsIn(fromFile)?.hosts ?? {}).length > 0,
	file: { member: "hosts", schema: HOSTS_SCHEMA, read: readHosts },
	create: async ({ fromFile, ...dependencies }) =>
		new (await import("./launcher.ts")).DockerLauncher({ ...dependencies, hosts: hostsIn(fromFile) }),
	doctor: async (endpoints, env, fromFile) => (await import("./doctor.ts")).findings(endpoints, env, hostsIn(fromFile)),
};

/** Returns the hosts that {@link readHosts} read. */
function hostsIn(fromFile: unknown): HostConfig | undefined {
	return fromFile as HostConfig | undefined;
}
