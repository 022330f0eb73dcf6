/** The queue of the fake ComfyUI (execution.py): one prompt at a time, its messages, and the history. */
import type { ComfyFiles } from "./comfyui-files.ts";
import { CLASSES, type Graph, type NodeError, nodesOf } from "./comfyui-nodes.ts";

export interface Submission {
	number: number;
	id: string;
	graph: Graph;
	/** Its client gets the messages. */
	extra: { client_id?: string };
	/** The nodes for which it runs. */
	outputs: readonly string[];
}

interface Prompt extends Submission {
	messages: [event: string, data: object][];
	/** What the nodes show, by node. */
	shown: Record<string, object>;
}

/** Sends a message to one client, or to all. */
export type Send = (type: string, data: object, client?: string) => void;

type HoldEnd = "released" | "interrupted";

/** What is cleared, or which prompts. */
export interface Removal {
	clear?: boolean;
	delete?: string[];
}

export type PromptQueue = ReturnType<typeof promptQueue>;

/** `timestamp`: of all messages, ms. */
export function promptQueue({ files, timestamp, send }: { files: ComfyFiles; timestamp: number; send: Send }) {
	const history = new Map<string, object>();
	let pending: Prompt[] = [];
	let running: Prompt | undefined;
	let hold = Promise.withResolvers<HoldEnd>();

	const info = () => ({ exec_info: { queue_remaining: pending.length + (running ? 1 : 0) } });
	const changed = (): void => send("status", { status: info() });

	/** Runs what waits, unless a prompt runs. */
	async function work(): Promise<void> {
		if (running) return;
		while ((running = pending.shift())) {
			changed();
			hold = Promise.withResolvers();
			const { id, extra, messages, shown } = running;
			const isSuccess = await execute(running, { files, timestamp, send, hold: () => hold.promise });
			history.set(id, {
				prompt: shownPrompt(running),
				outputs: shown,
				status: { status_str: isSuccess ? "success" : "error", completed: isSuccess, messages },
				meta: Object.fromEntries(Object.keys(shown).map((node) => [node, { node_id: node, display_node: node }])),
			});
			running = undefined;
			changed();
			if (extra.client_id !== undefined) send("executing", { node: null, prompt_id: id }, extra.client_id);
		}
	}

	return {
		info,
		shown: () => ({ queue_running: running ? [shownPrompt(running)] : [], queue_pending: pending.map(shownPrompt) }),
		running: () => running?.id,
		/** One prompt, if it has ended, or the last ones. */
		history: (id: string | undefined, last = Infinity) =>
			Object.fromEntries(id === undefined ? [...history].slice(-last) : [...history].filter(([each]) => each === id)),
		submit(submission: Submission): void {
			pending.push({ ...submission, messages: [], shown: {} });
			pending.sort((a, b) => a.number - b.number);
			changed();
			// A server has answered before its thread takes the prompt.
			setImmediate(() => void work());
		},
		/** Ends the wait of the node that holds the prompt. */
		release: () => hold.resolve("released"),
		/** Stops what runs, if it is that prompt; one that waits is not stopped. */
		interrupt(id: string | undefined): void {
			if (running && (id === undefined || id === running.id)) hold.resolve("interrupted");
		},
		removePending({ clear = false, delete: ids = [] }: Removal): void {
			pending = pending.filter(({ id }) => !clear && !ids.includes(id));
			changed();
		},
		removeHistory({ clear = false, delete: ids = [...(clear ? history.keys() : [])] }: Removal): void {
			for (const id of ids) history.delete(id);
		},
	};
}

const shownPrompt = ({ number, id, graph, extra, outputs }: Submission): unknown[] => [
	...[number, id, graph, extra, outputs],
];

/** Runs the nodes of a prompt, and resolves with whether it succeeded. */
async function execute(
	{ id, graph, extra: { client_id: client }, outputs, messages, shown }: Prompt,
	{ files, timestamp, send, hold }: { files: ComfyFiles; timestamp: number; send: Send; hold: () => Promise<HoldEnd> },
): Promise<boolean> {
	const notify = (event: string, data: object): void => {
		if (client !== undefined) send(event, { ...data, prompt_id: id }, client);
	};
	/** Also keeps the message for the history. */
	const record = (event: string, data: object): void => {
		const message = { ...data, prompt_id: id, timestamp };
		messages.push([event, message]);
		if (client !== undefined || event === "execution_interrupted") send(event, message, client);
	};
	record("execution_start", {});
	record("execution_cached", { nodes: [] });
	const results = new Map<string, Buffer>();
	const executed: string[] = [];
	for (const node of nodesOf(graph, outputs)) {
		const { class_type, inputs } = graph[node]!;
		notify("executing", { node, display_node: node });
		const given = Object.entries(inputs).map(([name, value]) => [
			name,
			Array.isArray(value) ? results.get(value[0]) : value,
		]);
		try {
			const { picture, ui } = await CLASSES[class_type]!.run(Object.fromEntries(given), {
				files,
				progress: (value, max) => notify("progress", { value, max, node }),
				hold,
			});
			if (picture) results.set(node, picture);
			if (ui) {
				shown[node] = ui;
				notify("executed", { node, display_node: node, output: ui });
			}
		} catch (error) {
			const { isInterruption, message: exception_message, name: exception_type } = error as NodeError;
			const where = { node_id: node, node_type: class_type, executed };
			const details = { exception_message, exception_type, traceback: [], current_inputs: {}, current_outputs: [] };
			if (isInterruption) record("execution_interrupted", where);
			else record("execution_error", { ...where, ...details });
			return false;
		}
		executed.push(node);
	}
	record("execution_success", {});
	return true;
}
