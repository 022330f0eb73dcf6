/** Two machines with Docker, each with a GPU that an `nvidia-smi` pretends. The daemons know what they run. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE } from "../../test/support/docker.ts";
import { type Machine, noHosts, twoMachines } from "../../test/support/docker-hosts.ts";
import { freePort } from "../../test/support/free-port.ts";
import { type Open, parts, PROGRAM, ROOT, type Share, SIZE_GB, SIZE_MIB } from "./platform.ts";

const SMI = "sluice-bench-smi:1";

interface Container {
	Config: { Env: string[] };
	HostConfig: { DeviceRequests: { DeviceIDs: string[] }[] };
}

export const open: Open = async ({ folder }) => {
	if (noHosts !== undefined) throw new Error(noHosts);
	const two = await twoMachines();
	const machines = [two.rig1, two.rig2];
	const port = await freePort();
	const hosts: Record<string, object> = {};
	for (const machine of machines) {
		await addSmi(machine, folder);
		const { gpus: _, ...settings } = machine.settings;
		hosts[machine.name] = { ...settings, gpuImage: SMI, workerUrl: `http://${machine.gateway}:${port}` };
	}
	/** By container. */
	const known = new Map<string, Share[]>();

	async function sharesOn({ docker }: Machine): Promise<Share[]> {
		const ids = await docker("ps", "--quiet", "--no-trunc", "--filter", "label=sluice.worker");
		const shares: Share[] = [];
		for (const id of ids.split("\n").filter((each) => each !== "")) {
			if (!known.has(id)) known.set(id, sharesOf(JSON.parse(await docker("inspect", id))[0]));
			shares.push(...known.get(id)!);
		}
		return shares;
	}

	const launcher = {
		type: "docker",
		hosts: "all",
		image: IMAGE,
		command: ["node", PROGRAM],
		volumes: [`${ROOT}:${ROOT}:ro`, `${folder}:${folder}`],
	};
	return {
		endpoints: parts(launcher),
		capacity: SIZE_GB,
		unit: "GB",
		service: { port, args: ["--host", "0.0.0.0"], env: { PATH: two.path }, file: { hosts } },
		shares: async () => (await Promise.all(machines.map(sharesOn))).flat(),
		close: () => two.close(),
	};
};

async function addSmi({ name, docker }: Machine, folder: string): Promise<void> {
	const path = join(folder, `nvidia-smi-${name}`);
	const line = `0, NVIDIA L4, ${SIZE_MIB}, 0, 0, GPU-${name}, 550.54.15, [N/A]`;
	writeFileSync(path, `#!/bin/sh\n[ "$1" = -L ] || echo '${line}'\n`, { mode: 0o755 });
	const made = await docker("create", "--network", "none", IMAGE, "/bin/true");
	await docker("cp", path, `${made}:/bin/nvidia-smi`);
	await docker("commit", "--change", "ENV PATH=/bin", made, SMI);
	await docker("rm", made);
}

function sharesOf({ Config, HostConfig }: Container): Share[] {
	const env = new Map(Config.Env.map((line) => line.split(/=(.*)/s) as [string, string]));
	const amount = Number(env.get("SLUICE_GPU_MEMORY_GB") ?? SIZE_GB);
	const ids = HostConfig.DeviceRequests.flatMap(({ DeviceIDs }) => DeviceIDs);
	return ids.map((gpu) => ({ worker: env.get("RUNPOD_POD_ID")!, gpu, amount }));
}
