/** Which hosts are shown to operators (D44). */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../kernel/system/clock.ts";
import { LOCAL } from "../../../kernel/core/workers/hosts.ts";
import { dockerHosts } from "./hosts.ts";

it("D44: the daemon of DOCKER_HOST is listed once an endpoint may use it, not for a search for strays", () => {
	const hosts = dockerHosts(
		{ hosts: { rig: { docker: "tcp://127.0.0.1:1" } }, lostAfterMs: 1000 },
		{
			clock: systemClock,
			env: {},
			log: () => {},
			registryLogin: async () => undefined,
			onReturn: async () => {},
			onChecked: () => {},
			onGpusRead: () => {},
			adapterContent: () => Promise.reject(new Error("not made here")),
			serviceId: () => undefined,
		},
	);
	onTestFinished(() => hosts.close());
	const listed = (): string[] => hosts.views([]).map(({ name }) => name);
	hosts.find(LOCAL);
	hosts.named({ type: "docker", image: "any:1", hosts: "all" });
	expect(listed()).toEqual(["rig"]);
	hosts.named({ type: "docker", image: "any:1" });
	expect(listed()).toEqual(["rig", LOCAL]);
});
