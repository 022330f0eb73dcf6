import type { WORKER_ROUTES } from "../../api/worker-protocol.ts";
import { chunk, chunkBatch } from "./chunk-api.ts";
import { doneBatch } from "./done-batch.ts";
import * as worker from "./worker-api.ts";
import type { HandlersOf } from "../server/route.ts";

export const WORKER_HANDLERS: HandlersOf<typeof WORKER_ROUTES> = {
	jobTake: worker.take,
	jobTakeBatch: worker.takeBatch,
	jobStop: worker.stop,
	jobDone: worker.done,
	jobDoneBatch: doneBatch,
	jobStream: chunk,
	jobStreamBatch: chunkBatch,
	ping: worker.ping,
};
