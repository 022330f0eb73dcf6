/** Batch jobs of a real Slurm whose node has two pretended GPUs; its controller knows which job has which. */
import { ownerIn } from "../../src/modules/slurm/script.ts";
import { noSlurm, startSlurm } from "../../test/support/slurm.ts";
import { type Open, PROGRAM, type Share, wholes } from "./platform.ts";

export const open: Open = async ({ folder }) => {
	if (noSlurm !== undefined) throw new Error(noSlurm);
	const cluster = await startSlurm(2);
	return {
		endpoints: wholes({ type: "slurm", command: [process.execPath, PROGRAM], sharedDir: folder }),
		capacity: 1,
		unit: "GPUs",
		service: { env: cluster.env },
		shares: async () =>
			(await cluster.run("scontrol", "--details", "--oneliner", "show", "jobs")).split("\n").flatMap(sharesOf),
		close: async () => cluster.remove(),
	};
};

/** A line of `scontrol`, with such as `JobName=… JobState=RUNNING … GRES=gpu:1(IDX:0)`. */
function sharesOf(line: string): Share[] {
	const [, name = "", state = "", index] = /JobName=(\S+) .*JobState=(\S+) .*GRES=gpu:1\(IDX:(\d+)\)/.exec(line) ?? [];
	const owner = ownerIn(name);
	if (owner === undefined || index === undefined || !["RUNNING", "COMPLETING"].includes(state)) return [];
	return [{ worker: owner.workerId, gpu: index, amount: 1 }];
}
