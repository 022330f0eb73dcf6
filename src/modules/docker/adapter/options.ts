/**
 * The two containers of a worker with an adapter (decision 0061). That of the adapter is the worker's: it takes jobs,
 * and has the variables that give access to the service. That of the server has the user's image, with all that the
 * settings say, and none of those variables.
 */
import { adapterEnv, serverEnv, serverPort, serverSettings } from "../../../kernel/launchers/adapter-container.ts";
import { type ContainerContext, containerOptions, LABELS, serverName } from "../container-options.ts";
import type { CreateOptions, InspectedContainer } from "../daemon.ts";
import { ID_TAIL, type Spec } from "../worker.ts";

export type AdapterSpec = Spec & { adapter: NonNullable<Spec["adapter"]> };

/** The network of servers without a setting: each has an address of its own, and no port of the machine. */
const BRIDGE = "bridge";

/** The program of the adapter, on the PATH of its image. */
const PROGRAM = "sluice-http";

/** `{port}` in its command is the port, and so is the variable PORT. */
export function serverOptions(spec: AdapterSpec, context: ContainerContext): CreateOptions {
	const port = serverPort(spec.adapter);
	const settings = serverSettings(spec.settings, port);
	const env = serverEnv(spec.env, port);
	const network = serverNetwork(spec);
	// Its variables keep addresses as they were written, and it needs no name for the machine.
	const own = { ...context, network, machine: undefined, url: spec.url };
	const options = containerOptions({ ...spec, settings, env }, own);
	return {
		...options,
		name: serverName(spec.workerId),
		Labels: { ...options.Labels, [LABELS.part]: "server" },
		...(hasNames(network) && {
			NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [alias(spec.workerId)] } } },
		}),
	};
}

/** `image`: has the adapter. `address`: of the server, as {@link serverAddress} returns it. */
export function adapterOptions(
	spec: AdapterSpec,
	context: ContainerContext,
	{ image, address }: { image: string; address: string },
): CreateOptions {
	const options = containerOptions(
		{
			...spec,
			settings: { type: "docker", image, entrypoint: [PROGRAM] },
			env: adapterEnv(spec.env, spec.adapter, address),
			gpus: [],
			gpuMemoryGb: undefined,
		},
		{ ...context, gpus: [], raisesLimits: false },
	);
	return { ...options, Labels: { ...options.Labels, [LABELS.part]: "adapter" } };
}

/** Returns where the adapter reaches the server; undefined if the server has ended and so has no address. */
export function serverAddress(spec: AdapterSpec, { State, NetworkSettings }: InspectedContainer): string | undefined {
	const network = serverNetwork(spec);
	const port = serverPort(spec.adapter);
	if (!State.Running) return undefined;
	if (network === "host") return `http://127.0.0.1:${port}`;
	if (hasNames(network)) return `http://${alias(spec.workerId)}:${port}`;
	// The only network that it is on; Podman gives the bridge another name.
	const [{ IPAddress = "", GlobalIPv6Address = "" } = {}] = Object.values(NetworkSettings?.Networks ?? {});
	if (IPAddress === "" && GlobalIPv6Address === "")
		throw new Error(`the Docker network "${network}" gives the server no address: set network`);
	return `http://${IPAddress === "" ? `[${GlobalIPv6Address}]` : IPAddress}:${port}`;
}

function serverNetwork({ settings: { network = BRIDGE } }: AdapterSpec): string {
	return network;
}

/** Whether containers find each other by name there. A name ends with its container, an address may be reused. */
function hasNames(network: string): boolean {
	return ![BRIDGE, "host", "none"].includes(network);
}

/** A name of the server in its network: that of its container may be longer than the 63 characters of a DNS label. */
function alias(workerId: string): string {
	return `server${workerId.slice(-ID_TAIL)}`;
}
