import { run } from "./cli/framework/run.ts";

const [command] = process.argv.slice(2);
// A reader such as head closes the pipe early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code !== "EPIPE") throw error;
	if (command !== "serve" && command !== "dev") process.exit(0);
});

// Pending timers, such as those of delayed rejections, would delay the exit.
process.exit(await run(process.argv.slice(2)));
