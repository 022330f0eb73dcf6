/** A worker that answers what it was given, many jobs at a time. */
import { start } from "../packages/worker/src/index.ts";

await start({ handler: ({ input }) => input as object, concurrency: 64 });
