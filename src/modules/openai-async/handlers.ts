/** OpenAI's `/batches` (D57). */
import { busOf } from "../../kernel/events.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { answer } from "../../kernel/http/exchange/answer.ts";
import { valueOf } from "../../kernel/http/exchange/call.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { creationOf } from "./create.ts";
import { ERRORS } from "./errors.ts";
import type { EVENTS } from "./events.ts";
import { batchObject, isOver, progressOf } from "./progress.ts";
import { AFTER, type BATCH_ROUTES, LIMIT } from "./routes.ts";

export type BatchHandlers = HandlersOf<typeof BATCH_ROUTES>;

export function batchHandlers(kernel: Kernel, { changed }: { changed: () => void }): BatchHandlers {
	const { calendar, hooks, now, store, endpoints, space } = kernel;
	const events = busOf<typeof EVENTS>(kernel.events);

	function found(row: BatchRow | undefined, { endpoint, batch }: { endpoint: string; batch: string }): BatchRow {
		endpoints.get(endpoint);
		if (row) return row;
		throw new ApiError(ERRORS.batch_not_found, { batch: batch.slice(0, 80), endpoint });
	}

	return {
		async createBatch(call) {
			const { endpoint } = call.params;
			endpoints.get(endpoint);
			space.admit();
			if (!hooks.files) throw new ApiError(ERRORS.files_not_stored);
			const creation = await creationOf(kernel, hooks.files, call);
			const stored = await store.batches.insert(creation);
			if (!stored) throw new ApiError("endpoint_not_found", { endpoint });
			const { batch, repeated } = stored;
			if (repeated && progressOf(batch).request !== progressOf(creation.row).request)
				throw new ApiError("idempotency_reused");
			if (!repeated) {
				events.emit("batch.created", { endpoint, batch: batch.id });
				changed();
			}
			return batchObject(batch, calendar);
		},

		async listBatches(call) {
			const { endpoint } = call.params;
			endpoints.get(endpoint);
			const { batches, more } = await store.batches.list({
				...{ endpoint, after: valueOf(call, AFTER), limit: valueOf(call, LIMIT) },
			});
			const data = batches.map((row) => batchObject(row, calendar));
			const ids = { first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null };
			await answer(call, JSON.stringify({ object: "list", data, ...ids, has_more: more }));
		},

		async getBatch({ params: { endpoint, batch } }) {
			return batchObject(found(await store.batches.find({ endpoint, id: batch }), { endpoint, batch }), calendar);
		},

		async cancelBatch({ params: { endpoint, batch } }) {
			const before = found(await store.batches.find({ endpoint, id: batch }), { endpoint, batch });
			// It may still be open for its webhook.
			if (isOver(progressOf(before))) return batchObject(before, calendar);
			const cancelled = await store.batches.cancel({ endpoint, id: batch, now: now() });
			changed();
			return batchObject(found(cancelled, { endpoint, batch }), calendar);
		},
	};
}
