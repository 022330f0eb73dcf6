import { start } from "../src/worker/index.ts";
await start({ handler: (job) => ({ image: job.input?.image ?? "" }), concurrency: 64 });
