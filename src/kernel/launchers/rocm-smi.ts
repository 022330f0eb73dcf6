/** What `rocm-smi` prints of AMD's GPUs. */
import type { MachineGpu } from "../core/workers/gpus.ts";

export const ROCM_GPUS = ["--showproductname", "--showmeminfo", "vram", "--showuse", "--json"];

/**
 * JSON such as `{"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "205822885888", ...}}`, with
 * warnings around it. All values are text.
 */
export function rocmGpusIn(text: string): MachineGpu[] {
	const cards = parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
	return Object.entries(cards).flatMap(([name, facts]) => {
		const id = /^card(\d+)$/.exec(name)?.[1];
		if (id === undefined || typeof facts !== "object" || facts === null) return [];
		// Letters differ between versions, such as in "Card series".
		const values = new Map(Object.entries(facts).map(([key, value]) => [key.toLowerCase(), String(value)]));
		const numberAt = (key: string): number | undefined => {
			const value = values.get(key) ?? "";
			return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
		};
		return {
			id,
			model: values.get("card series") ?? "AMD GPU",
			memory: numberAt("vram total memory (b)") ?? 0,
			memoryUsed: numberAt("vram total used memory (b)"),
			busy: numberAt("gpu use (%)"),
		};
	});
}

function parse(json: string): object {
	try {
		const value: unknown = JSON.parse(json);
		return typeof value === "object" && value !== null ? value : {};
	} catch {
		return {};
	}
}
