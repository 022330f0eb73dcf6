/** Workers as Docker containers (D25). */
import { NO_HOSTS } from "../../kernel/core/workers/hosts.ts";
import type { LauncherDefinition } from "../../kernel/launchers/definition.ts";
import { type DockerSettings, SETTINGS } from "./settings.ts";

export const DOCKER: LauncherDefinition<DockerSettings> = {
	type: "docker",
	title: "A container",
	description:
		"Workers are containers of the Docker daemon that DOCKER_HOST names, by default that of this machine, " +
		"or of the hosts of the configuration; started when jobs arrive and stopped when none are left.",
	managed: true,
	sharesGpus: true,
	canSleep: ({ hosts }) => hosts === undefined,
	placesGpus: ({ hosts }) => hosts !== undefined,
	settings: SETTINGS,
	keepsWorkers: ["pullPolicy", "prePull", "registry"],
	// Hosts of the configuration are shown and checked before an endpoint uses them.
	atStart: ({ hosts = NO_HOSTS }) => Object.keys(hosts.hosts).length > 0,
	create: async (dependencies) => new (await import("./launcher.ts")).DockerLauncher(dependencies),
	doctor: async (...setup) => (await import("./doctor.ts")).findings(...setup),
};
