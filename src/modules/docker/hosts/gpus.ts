/** The GPUs of a daemon's machine, read by `nvidia-smi` in a container. */
import type { HostGpu } from "../../../kernel/core/workers/hosts.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { readSmi } from "../../../kernel/launchers/nvidia-smi.ts";
import { framesOf, textOf } from "../../../kernel/launchers/platform-streams.ts";
import type { Daemon, DaemonInfo } from "../daemon.ts";
import { unlessAborted } from "../daemon-calls.ts";

const MIB = 1024 ** 2;

/** With a broken driver `nvidia-smi` never ends, so its container is removed after this time, ms. */
const READ_MS = 60_000;

export function hasNvidia({ Runtimes }: DaemonInfo): boolean {
	return Runtimes?.["nvidia"] !== undefined;
}

/**
 * Reads the GPUs with any `image` that has glibc, since the NVIDIA toolkit adds the program. Rejects with its output,
 * or after {@link READ_MS}.
 */
export async function readGpus(daemon: Daemon, image: string, clock: Clock): Promise<HostGpu[]> {
	const [late, over] = [new AbortController(), new AbortController()];
	const why = new Error(`nvidia-smi did not answer within ${READ_MS / 1000} s`);
	void clock.sleep(READ_MS, over.signal).then(() => late.abort(why));
	return await unlessAborted(readUntil(late.signal, daemon, image), late.signal).finally(() => over.abort());
}

async function readUntil(signal: AbortSignal, daemon: Daemon, image: string): Promise<HostGpu[]> {
	const found = await readSmi((args) => run(args, { signal, daemon, image }));
	return found.flatMap(({ uuid, model, memory, cuda }) => {
		if (uuid === undefined || memory === 0) return [];
		return { id: uuid, model, memoryGb: Math.round(memory / 1e8) / 10, ...(cuda !== undefined && { cuda }) };
	});
}

/** Runs the container, and removes it also when `signal` aborts. */
async function run(
	args: readonly string[],
	{ signal, daemon, image }: { signal: AbortSignal; daemon: Daemon; image: string },
): Promise<string> {
	const container = await daemon.create({
		Image: image,
		Entrypoint: ["nvidia-smi", ...args],
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
		return lines.join("\n");
	} finally {
		await daemon.remove(container).catch(() => {});
	}
}

async function* bytesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
	for await (const pieces of framesOf(stream)) yield Buffer.concat(pieces.map(({ bytes }) => bytes));
}
