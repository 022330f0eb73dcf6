import { start, type Handler } from "sluice-worker";

interface Input {
	name?: string;
}

interface Output {
	greeting: string;
}

// Node runs this file as it is; `npm run types` checks its types.
const handler: Handler<Input, Output> = async (job, { progress, signal }) => {
	const { name = "world" } = job.input;
	await progress({ step: "greeting" });
	signal.throwIfAborted();
	return { greeting: `Hello, ${name}!` };
};

await start({ handler });
