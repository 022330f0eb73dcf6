/** Entry point of the command line. */
import { run } from "./cli/run.ts";

const [command] = process.argv.slice(2);
// The reader of a pipe, such as head, has enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code !== "EPIPE") throw error;
	if (command !== "serve" && command !== "dev") process.exit(0);
});

// Exit despite pending timers, such as those of delayed rejections.
process.exit(await run(process.argv.slice(2)));
