/** What `nvidia-smi` and `rocm-smi` print (D27, D48). */
import fc from "fast-check";
import { gpusIn, memoryByWorker, processesIn, withMigDevices } from "../../../src/kernel/launchers/nvidia-smi.ts";
import { rocmGpusIn } from "../../../src/kernel/launchers/machine-gpus.ts";
import { oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const word = fc.oneof(
	oddText,
	fc.constantFrom("0", "7", "23034", "[N/A]", "Enabled", "GPU-a", "MIG-b", "550.54.15", "99999999999999999999"),
);
const line = fc.oneof(
	fc.array(word, { maxLength: 9 }).map((words) => words.join(", ")),
	fc.constantFrom(
		"0, NVIDIA H100, 81559, 1, [N/A], GPU-a, 550.54.15, Enabled",
		"GPU 0: NVIDIA H100 (UUID: GPU-a)",
		"  MIG 1g.10gb     Device  0: (UUID: MIG-b)",
		'{"card0": {"Card Series": "a", "VRAM Total Memory (B)": "1"}}',
	),
);

export const GPUS = target({
	name: "gpus",
	sources: ["kernel/launchers/nvidia-smi.ts", "kernel/launchers/machine-gpus.ts"],
	cases: fc.array(line, { maxLength: 8 }),
	check(lines) {
		const text = lines.map(String).join("\n");
		const gpus = gpusIn(text);
		const devices = withMigDevices(gpus, text);
		for (const { memory, memoryUsed = 0, busy = 0 } of [...gpus, ...devices, ...rocmGpusIn(text)])
			must(
				[memory, memoryUsed, busy].every((each) => each >= 0 && Number.isFinite(each)),
				"no number",
			);
		same(
			"numbers",
			devices.map(({ id }) => id),
			devices.map((_, index) => String(index)),
		);
		const processes = processesIn(text);
		const all = memoryByWorker(processes, () => "w").get("w") ?? new Map<string, number>();
		const sum = (numbers: Iterable<number>): number => [...numbers].reduce((a, b) => a + b, 0);
		same("memory", sum(all.values()), sum(processes.map(({ memory }) => memory)));
	},
});
