/** A worker that answers what it was given. */
import { start } from "../src/worker/index.ts";

await start({ handler: ({ input }) => input as object });
