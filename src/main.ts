/** Entry point of the command line. */
import { run } from "./cli/run.ts";

// Exit despite pending timers, such as those of delayed rejections.
process.exit(await run(process.argv.slice(2)));
