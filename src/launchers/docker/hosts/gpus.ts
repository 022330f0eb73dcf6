/** The GPUs of a daemon's machine, read by `nvidia-smi` in a container. */
import { cudaOf } from "../../../core/workers/cuda.ts";
import type { HostGpu } from "../../../core/workers/hosts.ts";
import type { Clock } from "../../../system/clock.ts";
import { framesOf, textOf } from "../../platform-streams.ts";
import { type Daemon, type DaemonInfo, unlessAborted } from "../daemon.ts";

const QUERY = ["--query-gpu=uuid,name,memory.total,driver_version", "--format=csv,noheader,nounits"];

const MIB = 1024 ** 2;

/** With a broken driver `nvidia-smi` never ends, so its container is removed after this time, ms. */
const READ_MS = 60_000;

export function hasNvidia({ Runtimes }: DaemonInfo): boolean {
	return Runtimes?.["nvidia"] !== undefined;
}

/**
 * Any `image` with glibc works, since the NVIDIA toolkit adds the program. Rejects with its output, or after
 * {@link READ_MS}.
 */
export async function readGpus(daemon: Daemon, image: string, clock: Clock): Promise<HostGpu[]> {
	const [late, over] = [new AbortController(), new AbortController()];
	const why = new Error(`nvidia-smi did not answer within ${READ_MS / 1000} s`);
	void clock.sleep(READ_MS, over.signal).then(() => late.abort(why));
	return await unlessAborted(readUntil(late.signal, daemon, image), late.signal).finally(() => over.abort());
}

/** Removes its container also when `signal` aborts. */
async function readUntil(signal: AbortSignal, daemon: Daemon, image: string): Promise<HostGpu[]> {
	const container = await daemon.create({
		Image: image,
		Entrypoint: ["nvidia-smi", ...QUERY],
		Cmd: [],
		Env: ["NVIDIA_DRIVER_CAPABILITIES=utility"],
		HostConfig: {
			NetworkMode: "none",
			DeviceRequests: [{ Count: -1, Capabilities: [["gpu", "utility"]] }],
		},
	});
	try {
		await daemon.start(container);
		await daemon.wait(container, signal);
		const { State } = await daemon.inspect(container);
		const output = bytesOf(await daemon.logs(container, { since: 0, signal, follow: false }));
		const text = await textOf(output, `nvidia-smi at ${daemon.address}`, MIB);
		const lines = text
			.trim()
			.split("\n")
			.map((line) => line.replace(/^\S+ /, "").trim());
		if (State.ExitCode !== 0) throw new Error(`nvidia-smi ended with exit code ${State.ExitCode}: ${lines.join(" ")}`);
		return gpusIn(lines);
	} finally {
		await daemon.remove(container).catch(() => {});
	}
}

async function* bytesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
	for await (const pieces of framesOf(stream)) yield Buffer.concat(pieces.map(({ bytes }) => bytes));
}

/** Lines such as `GPU-8f1c, NVIDIA L4, 23034, 550.54.15`, memory in MiB. */
export function gpusIn(lines: readonly string[]): HostGpu[] {
	return lines.flatMap((line) => {
		const [, id, model, mib, driver = ""] = /^([^\s,]+),\s*([^\s,][^,]*),\s*(\d+)(?:,\s*(\S+))?$/.exec(line) ?? [];
		if (id === undefined || model === undefined) return [];
		const cuda = cudaOf(driver);
		return [{ id, model, memoryGb: Math.round((Number(mib) * MIB) / 1e8) / 10, ...(cuda !== undefined && { cuda }) }];
	});
}
