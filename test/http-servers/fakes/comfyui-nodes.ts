/**
 * The nodes of the fake ComfyUI. `LoadImage`, `EmptyImage`, `SaveImage` and `PreviewImage` are its own; `FakeSampler`
 * stands for a custom node that works for a time.
 */
import type { ComfyFiles, Place } from "./comfyui-files.ts";

/** A workflow in the API format. An input that is a list is the output of another node. */
export type Graph = Readonly<Record<string, { class_type: string; inputs: Readonly<Record<string, unknown>> }>>;

export interface Class {
	/** Whether the node is a reason to run a workflow. */
	isOutput: boolean;
	run(inputs: any, work: Work): Promise<{ picture?: Buffer; ui?: { images: Place[] } }>;
}

interface Work {
	files: ComfyFiles;
	progress(value: number, max: number): void;
	hold(): Promise<"released" | "interrupted">;
}

/** A node failed, or was interrupted. */
export class NodeError extends Error {
	isInterruption: boolean;
	constructor(message: string, isInterruption = false) {
		super(message);
		// As Python names the type of an exception.
		this.name = "RuntimeError";
		this.isInterruption = isInterruption;
	}
}

const saved = (type: "output" | "temp"): Class => ({
	isOutput: true,
	run: async ({ images, filename_prefix = "ComfyUI" }, { files }) => ({
		ui: { images: [files.save(images, type === "temp" ? "ComfyUI_temp_abcde" : filename_prefix, type)] },
	}),
});

export const CLASSES: Readonly<Record<string, Class>> = {
	LoadImage: { isOutput: false, run: async ({ image }, { files }) => ({ picture: files.get(input(image))! }) },
	EmptyImage: {
		isOutput: false,
		run: async ({ width, height, color }) => ({
			picture: Buffer.from(`\x89PNG ${width}x${height} ${color}`, "latin1"),
		}),
	},
	SaveImage: saved("output"),
	PreviewImage: saved("temp"),
	/** `steps`: reported one by one. `hold`: waits before the last one. `error`: what it fails with instead of it. */
	FakeSampler: {
		isOutput: false,
		async run({ images, steps = 1, hold = false, error }, work) {
			for (let step = 1; step < steps; step++) work.progress(step, steps);
			if (hold && (await work.hold()) === "interrupted") throw new NodeError("", true);
			if (error !== undefined) throw new NodeError(error);
			work.progress(steps, steps);
			return { picture: images };
		},
	},
};

const input = (filename: string): Place => ({ filename, subfolder: "", type: "input" });

/** What is known of one class, if there is such a class, or of all. */
export function infoOf(wanted: string | undefined): Record<string, object> {
	const found = Object.entries(CLASSES).filter(([name]) => wanted === undefined || name === wanted);
	return Object.fromEntries(
		found.map(([name, { isOutput }]) => [
			name,
			{
				...{ name, display_name: name, description: "", python_module: "nodes", category: "image" },
				...{ input: { required: {} }, input_order: { required: [] }, output_node: isOutput },
				...{ output: isOutput ? [] : ["IMAGE"], output_name: isOutput ? [] : ["IMAGE"] },
			},
		]),
	);
}

/** The nodes that outputs need, each after its inputs. */
export function nodesOf(graph: Graph, outputs: readonly string[]): string[] {
	const found = new Set<string>();
	const visit = (node: string): void => {
		for (const value of Object.values(graph[node]!.inputs)) if (Array.isArray(value)) visit(value[0]);
		found.add(node);
	};
	for (const node of outputs) visit(node);
	return [...found];
}

/** Why a workflow is refused, if it is, and its nodes that are outputs. */
export function faultsOf(
	graph: Graph,
	files: ComfyFiles,
): { error: object | undefined; nodeErrors: Record<string, object>; outputs: string[] } {
	const refused = (type: string, message: string, details: string, nodeErrors = {}) => ({
		error: { type, message, details, extra_info: {} },
		nodeErrors,
		outputs: [],
	});
	for (const [node, { class_type }] of Object.entries(graph))
		if (!CLASSES[class_type])
			return refused(
				"invalid_prompt",
				`Cannot execute because node ${class_type} does not exist.`,
				`Node ID '#${node}'`,
			);
	const outputs = Object.keys(graph).filter((node) => CLASSES[graph[node]!.class_type]!.isOutput);
	if (outputs.length === 0) return refused("prompt_no_outputs", "Prompt has no outputs", "");
	const bad = Object.entries(graph).find(
		([, { class_type, inputs }]) => class_type === "LoadImage" && !files.get(input(inputs["image"] as string)),
	);
	if (!bad) return { error: undefined, nodeErrors: {}, outputs };
	const [node, { class_type, inputs }] = bad;
	const message = "Custom validation failed for node";
	const details = `image - Invalid image file: ${inputs["image"] as string}`;
	const errors = [{ type: "custom_validation_failed", message, details, extra_info: { input_name: "image" } }];
	return refused("prompt_outputs_failed_validation", "Prompt outputs failed validation", `${message}: ${details}`, {
		[node]: { errors, dependent_outputs: outputs, class_type },
	});
}
